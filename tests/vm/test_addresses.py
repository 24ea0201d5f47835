"""Places of a running kernel that are told by their addresses."""

from __future__ import annotations

import pytest

from tests.vm.harness import Guests, run_script

pytestmark = [pytest.mark.build, pytest.mark.vm]

NAMES = ("do_mkdirat", "exc_int3", "pid_max")


def test_watched_addresses(release: str, guests: Guests) -> None:
    """The kernel lies elsewhere after each boot, so the addresses are the guest's."""
    guest = guests.get(release)
    result = guest.run(["grep", "-E", f" ({'|'.join(NAMES)})$", "/proc/kallsyms"], timeout=240)
    at = {line.split()[2]: f"0x{line.split()[0]}" for line in result.stdout.decode().splitlines()}
    assert result.status == 0 and sorted(at) == sorted(NAMES), result
    script = f"""
    global inside
    probe kernel.data({at["do_mkdirat"]}).execute {{
        printf("%s %s %d %d\\n", execname(), probefunc(), int_arg(1), int_arg(3) & 0777)
    }}
    probe kernel.data({int(at["do_mkdirat"], 16) + 1:#x}).execute {{ inside++ }}
    probe kernel.data({at["exc_int3"]}).execute? {{ inside++ }}
    probe kernel.data({at["pid_max"]}).length(4).write {{ printf("%s\\n", symname(addr())) }}
    probe kernel.data({at["pid_max"]}).length(4).rw {{ touched = 1 }}
    global touched
    probe end {{ printf("inside of an instruction %d %d\\n", inside, touched) }}
    """
    load = "mkdir -m 711 d; rmdir d; echo 40000 >/proc/sys/kernel/pid_max"
    ran = run_script(guest, script, "-c", f"sh -c '{load}'")
    assert ran.status == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "mkdir do_mkdirat -100 457",
        "do_proc_dointvec_minmax_conv",
        "inside of an instruction 0 1",
    ]
    said = f"probe kernel.data({at['exc_int3']}).execute registration error (rc -22): the kernel"
    assert said in ran.stderr

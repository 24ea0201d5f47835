"""A machine with Secure Boot: it starts signed kernels only, and these load signed modules only.

The firmware of Debian's ovmf has a key that is known to all, "snakeoil", in place of an owner's.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.build import sign
from stapy.vm.machine import Machine, consumer_command
from tests.vm.conftest import missing
from tests.vm.harness import ROOT, Built, build, patience, run_built
from tests.vm.needs import need

pytestmark = [pytest.mark.build, pytest.mark.vm]

CODE = Path("/usr/share/OVMF/OVMF_CODE_4M.secboot.fd")
VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd")
OWNER = Path("/usr/share/ovmf/PkKek-1-snakeoil.pem")
SCRIPT = """
global reads, returns, calls, switches, shells
probe begin { println("begin") }
probe kernel.function("vfs_read") { if (pid() == target()) reads++ }
probe kernel.function("vfs_read").return { if (pid() == target() && $return > 0) returns++ }
probe syscall.openat { if (pid() == target() && isinstr(argstr, "hostname")) calls++ }
probe kernel.trace("sched_switch") { switches++ }
probe process("/bin/bash").function("execute_command") { shells++ }
probe end {
    printf("reads %d returns %d calls %d switches %d shells %d\\n",
           reads > 0, returns > 0, calls > 0, switches > 0, shells > 0)
}
"""
COMMAND = "/bin/bash -c 'read name </etc/hostname; : $name'"
PRINTED = "begin\nreads 1 returns 1 calls 1 switches 1 shells 1\n"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the firmware's key without its pass phrase, the certificate beside it."""
    wanted = {"sbsign": "sbsigntool", "openssl": "openssl"}
    lacking = [package for name, package in wanted.items() if not shutil.which(name)]
    lacking += [] if VARIABLES.exists() and CODE.exists() else ["ovmf"]
    if missing() or lacking:
        pytest.skip(missing() or f"apt-get install {' '.join(lacking)}")
    key = tmp_path_factory.mktemp("owner") / "owner.key"
    words = ["openssl", "rsa", "-in", str(OWNER.with_suffix(".key")), "-passin", "pass:snakeoil"]
    subprocess.run([*words, "-out", str(key)], check=True, capture_output=True)
    shutil.copy(OWNER, key.with_suffix(".pem"))
    return key


@pytest.fixture(scope="module")
def machine(
    release: str, owner: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """Boot the kernel with Secure Boot; the firmware takes longer than the kernel."""
    need(release, "CONFIG_MODULE_SIG", "CONFIG_EFI_STUB")
    folder = tmp_path_factory.mktemp("firmware")
    flash = shutil.copy(VARIABLES, folder)
    drive = "if=pflash,format=raw,unit={},file={}{}"
    extra = [
        *("-M", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"),
        *("-drive", drive.format(0, CODE, ",readonly=on"), "-drive", drive.format(1, flash, "")),
    ]
    with pytest.MonkeyPatch.context() as patch, Machine(release, extra=extra) as made:
        patch.setattr("stapy.vm.machine.BOOT_SECONDS", 900)
        image = folder / "vmlinuz"
        words = ["sbsign", "--key", str(owner), "--cert", str(owner.with_suffix(".pem"))]
        subprocess.run([*words, "--output", str(image), str(made.kernel.image)], check=True)
        made.kernel.image = image
        # Where systems have it, and stapy looks for the lockdown.
        done = made.run(["/bin/mount", "-t", "securityfs", "none", "/sys/kernel/security"])
        assert done.status == 0, done.stderr
        yield made


@pytest.fixture(scope="module")
def modules(
    release: str, owner: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Built]:
    """Make the same module three times: unsigned, signed by a key of nobody, by the firmware's."""
    folder = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSTEMTAP_DIR", str(folder / "home"))
        sign.make()
        ways = {"unsigned": [], "unknown": ["--sign-module"], "owner": [f"--sign-module={owner}"]}
        made = {}
        for name, words in ways.items():
            (folder / name).mkdir()
            all_words = [*words, "-m", "traced", "-c", COMMAND, "-e", SCRIPT]
            made[name] = build(release, all_words, folder / name)
            assert made[name].module, made[name].stderr
    return made


WORDS = ["-c", COMMAND, "-e", SCRIPT]
# What `stapy` asks before it compiles: whether the kernel will take it, unsigned or signed by keys.
ASK = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from pathlib import Path\n"
    "from stapy.build import sign\n"
    "from stapy.diagnostics import Diagnostics, SourceMap\n"
    "from stapy.kernel import find_kernel\n"
    "from stapy.kernel.host import HostFiles\n"
    "kernel = find_kernel(None, Diagnostics(SourceMap()))\n"
    "print('; '.join(HostFiles().obstacles(kernel)))\n"
    "for place in sys.argv[2:]:\n"
    "    print(HostFiles().obstacles(kernel, sign.given(Path(place)).number))\n"
)


def test_refused_unsigned_and_unknown(machine: Machine, modules: dict[str, Built]) -> None:
    for name, words in (
        ("unsigned", "takes signed modules only, and this one is not signed"),
        ("unknown", "signed with a key that the kernel does not know"),
    ):
        result = run_built(machine, modules[name], WORDS, 60)
        shown = (result.stdout, result.stderr)
        assert result.status == 1 and words in result.stderr, shown
        assert "stapy --sign-module" in result.stderr, shown
        assert "switch secure boot off" in result.stderr, shown
        assert not result.stdout, shown


def test_signed_by_the_owner_it_traces(machine: Machine, modules: dict[str, Built]) -> None:
    result = run_built(machine, modules["owner"], WORDS, 120)
    shown = (result.stdout, result.stderr)
    assert (result.status, result.stdout) == (0, PRINTED), shown
    assert result.stderr.replace(modules["owner"].stderr, "") == "", shown


def test_another_name_is_told(machine: Machine, modules: dict[str, Built]) -> None:
    """A second session needs another name, for which the signature is worth nothing."""
    assert modules["owner"].module
    run = f"PYTHONPATH=/run/stapy/lib {' '.join(consumer_command())}"
    module = machine.push(modules["owner"].module)
    # The second one is the command of the first.
    done = machine.run(
        [*consumer_command(), "-c", f"sh -c '{run} {module} 2>&1'", module],
        timeout=120 * patience(machine),
        cwd="/tmp",
    )
    shown = done.stdout.decode() + done.stderr.decode()
    assert "a session of traced is running, and under another name its signature" in shown, shown
    assert "-m OTHERNAME --sign-module" in shown, shown
    done = machine.run([*consumer_command(), "-R", module], timeout=120 * patience(machine))
    shown = done.stdout.decode() + done.stderr.decode()
    assert "reason: -R gives traced another name, under which its signature" in shown, shown
    assert "is running" not in shown, shown


def test_told_before_anything_is_compiled(machine: Machine, owner: Path) -> None:
    """``stapy`` itself, in there, asks whether the kernel will take what it would compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSTEMTAP_DIR", str(machine.share / "home"))
        sign.make()
    moks = machine.share / "home/ssl/server/moks"
    shutil.copytree(next(iter(moks.iterdir())), machine.share / "stranger")
    shutil.copytree(owner.parent, machine.share / "owner")
    places = ["/run/stapy/share/owner/owner.key", "/run/stapy/share/stranger"]
    done = machine.run(
        ["/usr/bin/python3", "-IS", "-c", ASK, str(ROOT), *places], timeout=120 * patience(machine)
    )
    lines = done.stdout.decode().splitlines()
    shown = (lines, done.stderr.decode())
    assert len(lines) == 3, shown
    assert "locked down (integrity): it takes only signed modules" in lines[0], shown
    assert lines[1] == "[]", shown
    assert "locked down" in lines[2], shown


def test_signed_by_the_owner_it_traces_in_confidentiality(
    machine: Machine, modules: dict[str, Built]
) -> None:
    """What that level keeps from programs, such as kprobes, it leaves to modules it has taken.

    The last test with this machine, for nothing takes the level back.
    """
    text = "cd /sys/kernel/security; echo confidentiality >lockdown; cat lockdown"
    done = machine.run(["/bin/sh", "-c", text])
    assert b"[confidentiality]" in done.stdout, done.stderr
    result = run_built(machine, modules["owner"], WORDS, 120)
    shown = (result.stdout, result.stderr)
    assert (result.status, result.stdout) == (0, PRINTED), shown
    assert result.stderr.replace(modules["owner"].stderr, "") == "", shown

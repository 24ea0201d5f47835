"""A session on a bare target: a root that has `python3-minimal`, insmod, rmmod, and no more."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import EXITED, SHARE, Machine, VmResult
from tests import bare
from tests.vm.harness import build, patience
from tests.vm.needs import need

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
global most = 1, text = "none"
probe begin { printf("%s %d %s\n", module_name(), most, text) }
probe syscall.write { if (pid() == target()) hits++ }
global hits
probe timer.s(1) { exit() }
probe end { printf("end %d\n", hits >= 0) }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    found = {}
    for name, words in (
        ("plain", ["-G", "most=1", "-G", "text=none", "-e", SCRIPT]),
        ("waits", ["-e", 'probe begin { println("up") } probe timer.s(600) { exit() }']),
    ):
        made = build(release, ["-m", name, *words], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare.zipapp(tmp_path_factory.mktemp("bare") / "stapy-run.pyz")


def inside(
    guest: Machine, archive: Path, modules: dict[str, Path], text: str, *programs: str
) -> VmResult:
    """Run shell commands that know ``$run``, a consumer with nothing but its root."""
    root = guest.share / f"root-{'-'.join(Path(name).name for name in programs)}"
    if not root.is_dir():
        try:
            bare.make_root(root, *programs)
        except bare.NoPackages as error:
            pytest.skip(str(error))
        shutil.copy(archive, root / "stapy-run.pyz")
    for name, path in modules.items():
        shutil.copy(path, root / f"{name}.ko")
    place = f"{SHARE}/{root.name}"
    prelude = f"""
    root=/run/stapy/{root.name}
    [ -d $root ] || cp -a {place} $root; cp {place}/*.ko $root
    for name in proc sys dev; do
        mountpoint -q $root/$name || mount --bind /$name $root/$name
    done
    run="chroot $root {bare.interpreter()} /stapy-run.pyz"
    """
    result = guest.run(["sh", "-c", prelude + text], cwd="/tmp", timeout=120 * patience(guest))
    assert result.kind == EXITED, (result.kind, result.dmesg[-3000:], result.stderr)
    assert b"Traceback" not in result.stderr, result.stderr
    assert result.left_modules == []
    return result


def kmod() -> list[str]:
    """Return the programs of kmod; `sh` for a command of the session."""
    found = [shutil.which(name, path="/usr/sbin:/sbin") for name in ("insmod", "rmmod")]
    if not all(found):
        pytest.skip("there is no kmod")
    return [*map(str, found), "/bin/sh"]


def test_a_session(guest: Machine, archive: Path, modules: dict[str, Path]) -> None:
    """Load, print, exit, unload; parameters, a command, a name of its own, a second session."""
    text = """
    chroot $root %s -c 'import ctypes' 2>&1 | tail -n 1
    $run plain.ko most=7 'text=a b'; echo status $?
    $run -R -c 'sh -c "exit 0"' plain.ko; echo status $?
    $run -L waits.ko; $run plain.ko; $run -d waits; echo status $?
    grep -c -e ^plain -e ^waits /proc/modules
    """
    python = bare.interpreter()
    result = inside(guest, archive, modules, text % python, *kmod())
    first, *lines = result.stdout.decode().splitlines()
    assert first.startswith("ModuleNotFoundError: No module named '"), first
    assert lines[:3] == ["plain 7 a b", "end 1", "status 0"], result.stderr
    assert lines[3].startswith("plain__"), (lines, result.stderr)
    assert lines[4:7] == ["end 1", "status 0", "up"], (lines, result.stderr)
    assert lines[7:] == ["plain 1 none", "end 1", "status 0", "0"], (lines, result.stderr)


def test_what_the_kernel_refuses(
    guest: Machine, archive: Path, modules: dict[str, Path], release: str, tmp_path: Path
) -> None:
    """Another release, other options of the same one, and no way to load at all."""
    data = modules["plain"].read_bytes()
    at = data.index(b"vermagic=") + len(b"vermagic=")
    end = data.index(b"\0", at)
    words = data[at:end].decode().split()
    assert words[0] == release
    assert "preempt" in words or "SMP" in words
    variants = {
        "options": data.replace(b" SMP ", b" UP  ", 1),
        "release": data[:at] + data[at:].replace(release[:3].encode(), b"5.9", 1),
    }
    broken = dict(modules)
    for name, content in variants.items():
        broken[name] = tmp_path / f"{name}.ko"
        broken[name].write_bytes(content)
    text = "for name in options release; do $run $name.ko; echo status $?; done"
    result = inside(guest, archive, broken, text, *kmod())
    assert result.stdout.decode().split() == ["status", "1"] * 2
    told = result.stderr.decode()
    assert "Couldn't insert module 'options.ko': Exec format error" in told, told
    assert "reason: it was built for a kernel with other options (it has UP, it lacks SMP)" in told
    assert f"was built for kernel 5.9{release[3:]}, this is {release}: another release, " in told
    result = inside(guest, archive, modules, "$run plain.ko; echo status $?", "/bin/sh")
    assert result.stdout == b"status 1\n"
    assert result.stderr.decode() == (
        "ERROR: modules cannot be loaded: this Python has no module ctypes, and there are no "
        "programs insmod and rmmod: apt-get install kmod\n"
    )


def test_unsigned_where_signatures_are_demanded(
    release: str, archive: Path, modules: dict[str, Path]
) -> None:
    """A machine of its own: what is demanded once is demanded until it ends."""
    need(release, "CONFIG_MODULE_SIG")
    with Machine(release) as strict:
        text = "echo 1 >/sys/module/module/parameters/sig_enforce; $run plain.ko; echo status $?"
        result = inside(strict, archive, modules, text, *kmod())
    told = result.stderr.decode()
    assert result.stdout == b"status 1\n", told
    assert "the kernel takes signed modules only, and this one is not signed: sign it" in told


def test_busybox_loads_as_well(guest: Machine, archive: Path, modules: dict[str, Path]) -> None:
    box = shutil.which("busybox")
    listed = subprocess.run([box, "--list"], capture_output=True, text=True) if box else None
    if not box or not listed or "insmod" not in listed.stdout.split():
        pytest.skip("there is no busybox with insmod")
    result = inside(guest, archive, modules, "$run plain.ko most=3; echo status $?", box)
    assert result.stdout.decode().splitlines() == ["plain 3 none", "end 1", "status 0"], (
        result.stderr
    )

"""Pass 5 of SystemTap's modules in a guest, by its own staprun."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from stapy.vm.machine import SHARE, Machine
from tests.oracle import chroot
from tests.vm import harness
from tests.vm.harness import SECONDS, Built, ScriptResult

_MOUNTS = """
r={root}
[ -e $r/proc/self ] && exit 0
set -e
mount -t proc proc $r/proc
mount --rbind /sys $r/sys
mount --rbind /dev $r/dev
mount -t tmpfs tmpfs $r/tmp
mount -t tmpfs tmpfs $r/run
mkdir -p $r/run/share
mount --bind {share} $r/run/share
"""


def build(release: str, words: list[str], folder: Path, debug: bool = False) -> Built:
    """Run passes 1 to 4 of SystemTap; scripts are named relative to the folder.

    Its cache takes scripts for the same that differ in comments only: messages would name the
    lines of an older text. So the text is named by a macro that nothing uses. The cache itself is
    used: without it each script tries the kernel's features anew, and its tracepoints, for minutes.
    """
    text = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.stp"))))
    command = ["stap", "-p4", f"-DSTAPY_TEXT={text.hexdigest()}", "-r", release, *words]
    try:
        done = chroot.run(command, folder, release, debug)
    except subprocess.TimeoutExpired:
        forget_tracepoints()
        return Built(None, 1, "", "SystemTap takes for ever\n", folder)
    except BaseException:
        forget_tracepoints()
        raise
    stdout = done.stdout.decode("utf-8", "surrogateescape")
    stderr = done.stderr.decode("utf-8", "surrogateescape")
    names = [line for line in stdout.splitlines() if line.endswith(".ko")]
    module = None
    if done.returncode == 0 and names:
        place = Path(names[-1])
        inside = chroot.root() / names[-1].strip("/") if place.is_absolute() else folder / place
        module = inside
    return Built(module, done.returncode, stdout, stderr, folder)


def forget_tracepoints() -> None:
    """Remove what the cache knows of tracepoints: an interrupted search keeps them as missing."""
    for path in (chroot.root() / "root/.systemtap/cache").glob("*/tracequery_*"):
        path.unlink(missing_ok=True)


def mount(guest: Machine) -> Path:
    """Make the chroot ready for programs of this guest; return its folder."""
    inside = chroot.root()
    guest.run(["/bin/sh", "-c", _MOUNTS.format(root=inside, share=SHARE)])
    return inside


def run_built(
    guest: Machine, built: Built, words: list[str], timeout: float = SECONDS
) -> ScriptResult:
    """Load the module with SystemTap's staprun and wait for its end."""
    if built.module is None:
        return ScriptResult(built.status or 1, built.stdout, built.stderr)
    inside = mount(guest)
    options = harness.run_options(words)
    options.color = "auto"
    pushed = guest.push(built.module)
    options.module = "/run/share" + pushed.removeprefix(SHARE)
    result = guest.run(
        ["/usr/sbin/chroot", str(inside), "/usr/bin/staprun", "-R", *options.words()],
        timeout=timeout,
        cwd="/tmp",
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"},
    )
    if result.left_modules:
        guest.close()
    return ScriptResult.of(built, result)


def scratch() -> Path:
    """Make a fresh folder for scripts and modules."""
    return Path(tempfile.mkdtemp(prefix="stapy-oracle-"))


def build_case(
    release: str, case: harness.Case, folder: Path, debug: bool = False
) -> tuple[list[str], Built, Built]:
    """Run passes 1 to 4 of both; return the words, SystemTap's module and ours.

    The script is copied into the folder and named without it, so that messages name it alike.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / case.path.name).write_bytes(case.path.read_bytes())
    words = [*(["-c", case.command] if case.command else []), case.path.name, *case.args]
    return words, build(release, words, folder, debug), harness.build(release, words, folder)


def run_case(
    machine: Machine, side: str, case: harness.Case, folder: Path, debug: bool = False
) -> ScriptResult:
    """Build and run a case on one side, ``systemtap`` or ``stapy``."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / case.path.name
    script.write_bytes(case.path.read_bytes())
    words = [*(["-c", case.command] if case.command else []), script.name, *case.args]
    if side == "systemtap":
        built = build(machine.release, words, folder, debug)
        return run_built(machine, built, words, case.timeout)
    built = harness.build(machine.release, words, folder)
    return harness.run_built(machine, built, words, case.timeout)

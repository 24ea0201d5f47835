"""Scripts in guests: passes 1 to 4 here by the real command line, pass 5 there.

A case is a script whose leading comments say what must happen:

    # args: -g -DMAXACTION=100     more words for the command line
    # command: dd if=/dev/zero …   the program of -c; {folder} is the case's folder
    # expect: REGEX                standard output, each after the one before
    # never: REGEX                 neither in the output nor among the errors
    # stderr: REGEX                standard error
    # status: 1                    exit status, 0 when not given
    # fails: 2                     no module is made; the errors are on stderr
    # kernel: 6.12                 only on kernels of this line or newer
    # needs: CONFIG_NFSD CONFIG_…  only on kernels that were built with these options
    # cpus: 2                      processors of the guest, 1 when not given
    # timeout: 30                  seconds in a guest of a quiet machine, 60 when not given
    # package: ruby3.1             the command is of this package, which need not be installed: for
                                   `test_languages` and `test_examples`
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from stapy.cli import parse
from stapy.kernel.release import release_order
from stapy.record import Record, new
from stapy.run.options import RunOptions
from stapy.vm import kernels
from stapy.vm.initramfs import bytecode
from stapy.vm.machine import EXITED, SHARE, Machine, VmResult
from stapy.vm.tree import busybox, interpreter
from tests.vm import forks, watch

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "tests" / "vm" / "cases", ROOT / "tests" / "tapsets")
SECONDS = 60.0
PATIENCE = 4  # by so much guests may be slower on a busy machine; a limit, not a wait
BUILD_SECONDS = 1200  # for passes 1 to 4 on a busy machine; the most costly takes forty
# The watchdogs' seconds are the host's: a busy one may let a guest stand still for half a minute.
WATCHDOGS = f"watchdog_thresh={10 * PATIENCE} rcupdate.rcu_cpu_stall_timeout={20 * PATIENCE}"
# The consumer as commands of a shell start it: without `site` and `runpy`, for an interpreter's
# start takes the emulated processor more than a second. `-m stapy.run` is for `Machine.run`.
# Beside a storm of processes that start takes many times as long: until it begins, it goes first.
CONSUMER = f"nice -n -20 {interpreter()} -sS {ROOT}/tests/vm/consume.py"
# Programs that shell commands start often, in busybox's static form, which starts ten times as
# fast; not those whose system calls are what a script shall see (cat, ls).
TOOLS = ["awk", "cut", "date", "dd", "grep", "head", "mkdir", "mktemp", "nice", "rm", "sed", "seq",
         "sleep", "tail", "touch", "tr", "wc"]  # fmt: skip
_DIRECTIVE = re.compile(r"#\s*(\w+):\s?(.*)")
_KNOWN = {
    "args",
    "command",
    "expect",
    "never",
    "stderr",
    "status",
    "fails",
    "kernel",
    "needs",
    "cpus",
    "timeout",
    "package",
}


def patience(guest: Machine) -> int:
    """Return by what the seconds of a test are multiplied in this guest."""
    return PATIENCE * guest.kernel.patience()


def releases() -> list[str]:
    """List the kernels to test on: ``STAPY_TEST_KERNELS``, else one of each line."""
    named = os.environ.get("STAPY_TEST_KERNELS", "").replace(",", " ").split()
    return named or kernels.lines()


class Case(Record):
    """One script file and its expectations."""

    path: Path
    args: list[str] = new(list)
    command: str | None = None
    expect: list[str] = new(list)
    never: list[str] = new(list)
    stderr: list[str] = new(list)
    status: int = 0
    fails: int = 0
    kernel: str = ""
    needs: list[str] = new(list)
    package: str = ""
    cpus: int = 1
    timeout: float = SECONDS

    def runs_on(self, release: str) -> bool:
        """Tell whether the case does not ask for a newer kernel."""
        return not self.kernel or release_order(release) >= release_order(self.kernel)

    def words(self) -> list[str]:
        """List the words of the command line but for what the harness adds."""
        return [*(["-c", self.command] if self.command else []), str(self.path), *self.args]


def read_case(path: Path) -> Case:
    """Read a case from the comments that its file begins with."""
    return told_case(path, path.read_text(encoding="utf-8"), path.parent)


def told_case(path: Path, text: str, folder: Path) -> Case:
    """Read a case from the comments that a text begins with; ``folder`` is its ``{folder}``."""
    case = Case(path)
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        match = _DIRECTIVE.match(line)
        if not match or match[1] not in _KNOWN:
            continue
        name, value = match[1], match[2].strip().replace("{folder}", str(folder))
        if name == "args":
            case.args += shlex.split(value)
        elif name == "needs":
            case.needs += value.split()
        elif name in ("expect", "never", "stderr"):
            re.compile(value)  # a bad expression is the case's mistake, found at collection
            getattr(case, name).append(value)
        elif name in ("status", "fails", "cpus"):
            setattr(case, name, int(value))
        elif name == "timeout":
            case.timeout = float(value)
        else:
            setattr(case, name, value)
    return case


def all_cases() -> list[Case]:
    """Read every case file."""
    return [read_case(path) for folder in FOLDERS for path in sorted(folder.rglob("*.stp"))]


class Built(Record):
    """What passes 1 to 4 gave: a module, or the reasons why not."""

    module: Path | None
    status: int
    stdout: str
    stderr: str
    folder: Path


class ScriptResult(Record):
    """How a script ended."""

    status: int
    stdout: str
    stderr: str
    dmesg: str = ""
    kind: str = EXITED
    log_path: Path | None = None
    left_modules: list[str] = new(list)
    sleeping: list[str] = new(list)  # backtraces of `watch`

    @classmethod
    def of(cls, built: Built, result: VmResult) -> ScriptResult:
        """Put together what passes 1 to 4 and what the guest said."""
        return cls(
            result.status,
            result.stdout.decode("utf-8", "surrogateescape"),
            built.stderr + result.stderr.decode("utf-8", "surrogateescape"),
            result.dmesg,
            result.kind,
            result.log_path,
            result.left_modules,
        )


def build(release: str, words: list[str], folder: Path, stdin: str | None = None) -> Built:
    """Run passes 1 to 4 for a kernel, by the real command line.

    With `--vm` among the words, names of programs mean those of the guest.
    """
    which = [] if any(word.startswith("--vm=") for word in words) else ["-r", release]
    done = forks.run(
        ["-p4", *which, *_unhurried(release, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        given=stdin,
        timeout=BUILD_SECONDS,
    )
    names = [line for line in done.stdout.splitlines() if line.endswith(".ko")]
    module = folder / names[-1] if names and done.returncode == 0 else None
    return Built(module, done.returncode, done.stdout, done.stderr, folder)


# An emulated handler that the host leaves waiting counts the host's cycles.
_PATIENT = "-DSTP_OVERLOAD_THRESHOLD=1000000000000"


def _unhurried(release: str, words: list[str]) -> list[str]:
    """Add what keeps a busy host from ending a session, unless the script is about that.

    On a kernel that watches itself each handler costs too much.
    """
    if any("OVERLOAD" in word or "privilege" in word for word in words):
        return words
    watches = kernels.find(release).watches()
    return ["-DSTP_NO_OVERLOAD" if watches else _PATIENT, *words]


class Builds:
    """Makes modules one ahead of the guest, so that both have something to do."""

    def __init__(self, folder: Path) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._jobs: dict[tuple[str, ...], Future[Built]] = {}
        self._folder = folder

    def folder(self) -> Path:
        """Make a fresh folder that lives as long as this object."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def ask(self, release: str, case: Case) -> Future[Built]:
        """Have the module of a case made some time; the same one each time."""
        key = (release, *case.words())  # tests ask for a script with other options, too
        if key not in self._jobs:
            self._jobs[key] = self._pool.submit(build, release, case.words(), self.folder())
        return self._jobs[key]

    def close(self) -> None:
        """Forget what is not begun."""
        self._pool.shutdown(cancel_futures=True)


class Guests:
    """One machine per kernel and number of processors, started on first use.

    Those of one kernel stay: an idle guest costs memory only, to boot it again five seconds.
    """

    def __init__(self) -> None:
        self._machines: dict[tuple[str, int], Machine] = {}

    def get(self, release: str, cpus: int = 1) -> Machine:
        """Return the machine; those of other kernels are switched off."""
        key = (release, cpus)
        if key not in self._machines:
            if any(other != release for other, _ in self._machines):
                self.close()
            more = f"{WATCHDOGS} {os.environ.get('STAPY_TEST_COMMAND_LINE', '')}".strip()
            self._machines[key] = Machine(release, cpus=cpus, command_line=more)
        return self._machines[key]

    def close(self) -> None:
        """Switch all off."""
        for machine in self._machines.values():
            machine.close()
        self._machines.clear()


@functools.cache
def _library() -> dict[str, bytes]:
    """Compile what a consumer needs of Python's library to bytecode, by place."""
    ask = (
        "import sys, ctypes, encodings.ascii, fcntl, json, shlex, signal\n"
        "import stapy.run.cli, stapy.run.supply\n"
        "for name, one in sys.modules.items():\n"
        "    spec = getattr(one, '__spec__', None)\n"
        "    if spec and spec.has_location and (spec.origin or '').endswith('.py'):\n"
        "        print(name, int(spec.submodule_search_locations is not None), spec.origin)"
    )
    words = [interpreter(), "-sS", "-c", ask]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in told.splitlines():
        name, package, place = line.split(" ", 2)
        if not Path(place).is_relative_to(ROOT):
            file = name.replace(".", "/") + ("/__init__" if package == "1" else "")
            found[f"{file}.pyc"] = bytecode(Path(place))
    return found


def tools(guest: Machine) -> str:
    """Return shell commands that put `TOOLS` before what the host has."""
    folder = guest.share / "tools"
    if not folder.is_dir():
        folder.mkdir()
        box = busybox()
        known = subprocess.run([box, "--list"], capture_output=True, text=True, check=True).stdout
        for name in set(TOOLS) & set(known.split()):
            (folder / name).symlink_to(box)
        for file, code in _library().items():
            (folder / "python" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "python" / file).write_bytes(code)
    place = "/run/stapy/tools"  # in the guest's memory: looked up without asking the host
    return f"[ -d {place} ] || cp -a {SHARE}/tools {place}; PATH={place}:$PATH\n"


def run_options(words: list[str]) -> RunOptions:
    """Parse what of a command line concerns pass 5."""
    options = parse(words)
    return RunOptions(
        command=options.command,
        target=options.target or 0,
        output=options.output,
        parameters=[f"{name}={value}" for name, value in options.globals.items()],
        rotate=options.rotate or "",
        timeout=options.timeout,
        warnings=not options.suppress_warnings,
        color="never",
    )


def run_built(
    guest: Machine,
    built: Built,
    words: list[str],
    timeout: float,
    before: tuple[str, ...] = (),
) -> ScriptResult:
    """Pass 5 of a made module in a guest; ``before`` as in `run_script`."""
    if built.module is None:
        return ScriptResult(built.status or 1, built.stdout, built.stderr)
    options = run_options(_brought(guest, words))
    options.module = guest.push(built.module)
    watched = watch.wanted(guest.release)
    if watched:
        watch.begin(guest, _watcher(guest.release))
    result: VmResult = guest.run(
        [*before, *guest.consumer_command(), *options.words()],
        timeout=timeout * patience(guest),
        cwd="/tmp",
    )
    sleeping = []
    if watched and result.status >= 0:
        sleeping = watch.end(guest, built.module.stem)
        result.left_modules.remove(watch.NAME)
    if result.left_modules:
        guest.close()  # the next case shall not suffer
    ended = ScriptResult.of(built, result)
    ended.sleeping = sleeping
    return ended


def _brought(guest: Machine, words: list[str]) -> list[str]:
    """Bring the programs that words name from here to a guest that does not see this tree."""
    if not guest.kernel.is_foreign():
        return words
    ours = re.compile(rf"{re.escape(str(ROOT))}/tests/[\w./-]+")
    return [ours.sub(lambda path: guest.push(Path(path[0])), word) for word in words]


@functools.cache
def _watcher(release: str) -> Path:
    """Build the module of `watch` for a kernel, once."""
    made = build(release, list(watch.WORDS), Path(tempfile.mkdtemp(prefix="stapy-watch-")))
    assert made.module, made.stderr
    return made.module


def run_script(
    guest: Machine,
    script: str,
    *args: str,
    arguments: tuple[str, ...] = (),
    timeout: float = SECONDS,
    before: tuple[str, ...] = (),
) -> ScriptResult:
    """Run the text of a script in a guest.

    ``args`` are options of the command line, ``arguments`` the script's own;
    ``before`` is a command that gets the consumer's behind its own words.
    """
    words = [*args, "-e", script, *arguments]
    with tempfile.TemporaryDirectory(prefix="stapy-script-") as folder:
        built = build(guest.release, words, Path(folder))
        result = run_built(guest, built, words, timeout, before)
    check_kernel(result)
    return result


def check_kernel(result: ScriptResult) -> None:
    """Check that, whatever a script did, the kernel is content and the module gone."""
    assert result.kind == EXITED, (
        f"{result.kind}, log in {result.log_path}\n{result.dmesg[-4000:]}\n{result.stderr}"
    )
    left = f"modules left loaded: {result.left_modules}\n{result.stderr}"
    assert not result.left_modules, left
    assert not result.sleeping, "where nothing may sleep:\n" + "\n".join(result.sleeping)


def check_case(case: Case, result: ScriptResult) -> None:
    """Compare a result with what the case expects."""
    check_kernel(result)
    shown = f"--- stdout\n{result.stdout[-6000:]}\n--- stderr\n{result.stderr[-6000:]}"
    assert "Traceback (most recent call last)" not in result.stderr, shown
    at = 0
    for pattern in case.expect:
        match = re.compile(pattern, re.MULTILINE).search(result.stdout, at)
        assert match, f"stdout lacks /{pattern}/ after {at} characters\n{shown}"
        at = match.end()
    for pattern in case.stderr:
        assert re.search(pattern, result.stderr, re.MULTILINE), f"stderr lacks /{pattern}/\n{shown}"
    for pattern in case.never:
        found = re.search(pattern, result.stdout + result.stderr, re.MULTILINE)
        assert not found, f"there is /{pattern}/\n{shown}"
    if case.fails:
        assert result.status != 0, f"it should not compile\n{shown}"
    else:
        assert result.status == case.status, f"status {result.status}\n{shown}"

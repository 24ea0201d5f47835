"""Every tool of the gallery, with an event that is provoked for it: those of a subject at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.run.options import RunOptions
from stapy.session import examples
from stapy.vm.machine import EXITED
from tests.debuginfo.user.sources import compiled
from tests.guide import shape
from tests.vm import packages
from tests.vm.harness import (
    Builds,
    Case,
    Guests,
    ScriptResult,
    check_case,
    patience,
    run_built,
    run_options,
    told_case,
)
from tests.vm.needs import lacking, need
from tests.vm.together import run_together

pytestmark = [pytest.mark.build, pytest.mark.vm]

FOLDER = Path(__file__).parent / "examples"
GALLERY = {one.name: one for one in examples.gallery()}
# What the tools of a subject need in the guest, and how it is taken away.
GROUND = {
    "block": ("modprobe null_blk gb=1 memory_backed=1", "modprobe -r null_blk"),
}


def cases() -> dict[str, Case]:
    """Read what is provoked and expected: a block ``### NAME`` for each tool."""
    found = {}
    for block in (FOLDER / "cases.txt").read_text().split("### ")[1:]:
        name, _, text = block.partition("\n")
        found[name.strip()] = told_case(GALLERY[name.strip()].path, text, FOLDER)
    return found


CASES = cases()
TOOLS = [pytest.param(name, id=f"{one.subject}-{name}") for name, one in GALLERY.items()]


def test_every_tool_has_a_case() -> None:
    assert sorted(CASES) == sorted(GALLERY)
    assert [name for name, case in CASES.items() if not case.expect] == []


class Subjects:
    """Runs the tools of a subject together when the first of them is asked for."""

    def __init__(self, request: pytest.FixtureRequest, guests: Guests, builds: Builds) -> None:
        self._items = request.session.items
        self._guests = guests
        self._builds = builds
        self._found: dict[tuple[str, str], dict[str, ScriptResult] | AssertionError] = {}

    def of(self, release: str, name: str) -> ScriptResult:
        """Return how a tool ended; raise what all tools of the subject have come to."""
        key = release, GALLERY[name].subject
        if key not in self._found:
            try:
                self._found[key] = self._run(*key)
            except AssertionError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, AssertionError):
            raise found
        return found[name]

    def _wanted(self, subject: str) -> list[str]:
        """List the tools of a subject whose tests were chosen and that can be had."""
        marked = [one.callspec for one in self._items if hasattr(one, "callspec")]
        chosen = {one.params.get("name") for one in marked}
        return [
            name
            for name, case in sorted(CASES.items())
            if name in chosen and GALLERY[name].subject == subject and not packages.lacks(case)
        ]

    def _run(self, release: str, subject: str) -> dict[str, ScriptResult]:
        names = [
            name
            for name in self._wanted(subject)
            if CASES[name].runs_on(release) and not lacking(release, *CASES[name].needs)
        ]
        wanted, roots = packages.at_hand([CASES[name] for name in names])
        results: dict[str, ScriptResult] = {}
        sessions: dict[str, RunOptions] = {}
        with pytest.MonkeyPatch.context() as environment:
            for variable, value in packages.environment(*roots).items():
                environment.setenv(variable, value)
            jobs = [self._builds.ask(release, case) for case in wanted]
            guest = self._guests.get(release)
            for name, case, job in zip(names, wanted, jobs, strict=True):
                made = job.result()
                if made.module is None:
                    results[name] = ScriptResult(made.status or 1, made.stdout, made.stderr)
                    continue
                options = sessions[name] = run_options(case.words())
                options.module = guest.push(made.module)
        seconds = max(case.timeout for case in wanted)
        before, after = GROUND.get(subject, (":", ":"))
        prepared = (f"{{ {packages.ground(root)}}}" for root in roots)
        ground = (" &&\n".join([before, *prepared]), after)
        return results | run_together(guest, f"examples-{subject}", sessions, seconds, ground)


@pytest.fixture(scope="session")
def subjects(request: pytest.FixtureRequest, guests: Guests, builds: Builds) -> Subjects:
    """Hold what the tools of each subject have printed."""
    return Subjects(request, guests, builds)


@pytest.mark.parametrize("name", TOOLS)
def test_tools(name: str, release: str, subjects: Subjects) -> None:
    """Each prints what its case expects; one of a package that cannot be had says so."""
    case = CASES[name]
    if not case.runs_on(release):
        pytest.skip(f"only on kernels from {case.kernel} on")
    if why := packages.lacks(case):
        pytest.skip(why)
    need(release, *case.needs)
    result = subjects.of(release, name)
    check_case(case, result)
    sample = GALLERY[name].told["sample"].partition("\n")[2]
    missing = shape.lacking(sample, result.stdout)
    assert not missing, f"its sample has lines of other kinds: {missing}\n{result.stdout}"


# What a tool must go on printing when more has happened than its tables hold: of processes that
# have ended, files that stay, connections that are open.
PROCESSES = "python3 -IS {folder}/many.py"
CONNECTIONS = (
    """python3 -ISc 'import _socket as s; l = s.socket(); l.bind(("127.0.0.1", 4320)); """
    """l.listen(99); c = [s.socket() for _ in range(90)]; """
    """[o.connect(("127.0.0.1", 4320)) for o in c]; [o.close() for o in c]'"""
)
NAMES = (
    """python3 -ISc 'for n in range(120): open("/proc/self/comm", "w").write(f"name{n}"), """
    """open("/etc/passwd").read()'"""
)
FILES = (
    """python3 -ISc 'import os, socket; f = os.open("/usr/lib/os-release", 0); """
    """a, b = socket.socketpair(); socket.send_fds(a, [b"x"], [f] * 253)'"""
)
# Calls that last while others begin; a thread that becomes another program, under another number.
WAITING = (
    "sh -c 'cd /dev/shm; mkfifo waiting; cat waiting >/dev/null & cat waiting >/dev/null & "
    "sleep 0.5; cat /etc/hostname; echo >waiting; wait; rm waiting'"
)
BECOMES = (
    """sh -c 'python3 -ISc "import _thread, os, time; """
    """_thread.start_new_thread(os.execv, (\\"/bin/true\\", [\\"true\\"])); time.sleep(9)"; """
    """/bin/true after; :'"""
)
SLEEPERS = "sh -c 'for i in 1 2 3 4; do sleep 0.5 & done; wait'"
MANY = {
    "cachetop": ("80", NAMES, r"^name\d+ +\d+ +\d+ +\d+$"),
    "cpudist": ("1", SLEEPERS, r"^[1-9]\d* turns, "),
    "execsnoop": ("1", BECOMES, r'"/bin/true" \["/bin/true", "after"\]$'),
    "filelife": ("80", PROCESSES, r"^python3\S* +\d+ +\d+ many119$"),
    "forktree": ("1", SLEEPERS, r"^ +\d+ +sleep 0\.5$"),
    "offcputime": ("80", PROCESSES, r"^python3\S*: [1-9]\d* us, "),
    "offwaketime": ("80", PROCESSES, r"^python3\S* sleeps: [1-9]\d* us, "),
    "opensnoop": ("1", WAITING, r'^cat +\d+ +\d+ +"/etc/hostname"$'),
    "runqlat": ("1", SLEEPERS, r"^[1-9]\d* waits, "),
    "runqslower": ("1", SLEEPERS, r"^NAME +TID +US$"),
    "slowboot": ("1", SLEEPERS, r"^ +\d+ +[1-9]\d* +\d+ sleep\(\d+\) in /"),
    "sofdsnoop": ("80", FILES, r"^python3\S* +\d+ sends +\.\.\. and 247 more$"),
    "switches": ("80", PROCESSES, r"^ +\d+ python3\S* +[1-9]\d* +\d+$"),
    "syslatency": ("80", PROCESSES, r"^clock_nanosleep +120 "),
    "tcplife": ("80", CONNECTIONS, r"^python3\S* +\d+ 127\.0\.0\.1:4320 "),
}


@pytest.mark.parametrize("name", MANY)
def test_tables_do_not_fill(name: str, release: str, guests: Guests, builds: Builds) -> None:
    """What has ended, or was begun and never ends, does not stop a tool that runs for long."""
    size, command, wanted = MANY[name]
    text = f"# args: -DMAXMAPENTRIES={size}\n# command: {command}\n# expect: {wanted}\n"
    case = told_case(GALLERY[name].path, text, FOLDER)
    built = builds.ask(release, case).result()
    check_case(case, run_built(guests.get(release), built, case.words(), case.timeout))


# What top lists must tell at the end when more has come than there was room for: elements and
# arguments, what is provoked ("" for what the tool's own case does), what is told.
BUSY = (
    """python3 -ISc '[open("/proc/self/comm", "w").write(f"n{n}") and sum(range(3000000)) """
    """for n in range(9)]'"""
)
LOCKS = (
    """python3 -ISc 'import _thread as t; a = [t.allocate_lock() for _ in range(99)]; """
    """[(one.acquire(), one.acquire(True, 0.002)) for one in a]'"""
)
WRITES = (
    """python3 -ISc 'import os; f = os.open("/dev/null", 1); """
    """[(os.write(f, b"x"), os.pwrite(f, b"x", 0)) for _ in range(40)]'"""
)
HELD = (
    "sh -c 'for file in /dev/shm/held /root/held; do for i in 1 2; do "
    "dd if=/dev/zero of=$file bs=16M count=2 conv=notrunc status=none & done; wait; done'"
)
DD = "dd if=/dev/%s of=/dev/%s bs=4096 count=5 status=none"
DISKS = (
    f"sh -c '{GROUND['block'][0]}; {DD % ('nullb0', 'null')} iflag=direct; "
    f"{DD % ('nullb0', 'null')}; {DD % ('zero', 'nullb0')} oflag=direct; "
    f"{DD % ('zero', 'nullb0')} oflag=sync; head -c 900000 /dev/nullb0 >/dev/null; "
    f"{GROUND['block'][1]}'"
)
READERS = "sh -c 'cat /etc/services >/dev/null; head -n 1 /etc/services >/dev/null; :'"
SERVERS = "sh -c 'for i in 4321 4322; do python3 -IS {folder}/untaken.py $i; done'"
TWICE = "sh -c 'for i in 1 2; do sh {folder}/swap.sh; done'"
DEVICES = (
    "sh -c 'python3 -IS {folder}/tcp.py 4323; ip link add told0 type dummy; "
    "ip address add 192.0.2.1/24 dev told0; ip link set told0 up; "
    """python3 -ISc "import _socket as s; """
    """s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b\\"x\\", (\\"192.0.2.2\\", 9))"; """
    "ip link delete told0; modprobe -r dummy'"
)
LOST = "python3 -IS {folder}/retrans.py 4325"
STUCK = "sh {folder}/stuck.sh twice"
NAPS = "sh -c 'sleep 0.3; sleep 0.3; :'"
OTHERS = {
    "biostacks": ("1", DISKS, "requests by other stacks"),
    "biotop": ("1", DISKS, "requests of others"),
    "bitesize": ("1", DISKS, "requests of others"),
    "dropped": ("1", LOST, "packets at other places"),
    "errsnoop": ("1", "", "calls of others"),
    "faults": ("1", READERS, "faults of others"),
    "filetop": ("80", NAMES, "bytes of others"),
    "funccount": ("1 vfs_*", "", "calls of others"),
    "funcinterval": ("1 vfs_*", "", "calls of others"),
    "funclatency": ("1 vfs_*", "", "calls of others"),
    "futexes": ("80", LOCKS, "waits for other locks"),
    "hardirqs": ("1", "", "interrupts of others"),
    "iosizes": ("1", READERS, "calls of others"),
    "klocks": ("1", HELD, "waits by other stacks"),
    "kmallocs": ("1", "", "calls by others"),
    "libcalls": ("1 ls", "", "calls of others"),
    "mallocs": ("1", READERS, "calls of others"),
    "memleak": ("1", "", "other pieces, freed since or not"),
    "nettop": ("1", DEVICES, "packets of others"),
    "new-threads": ("1", READERS, "by others"),
    "proctop": ("1", "", "turns of others"),
    "profile": ("1", BUSY, "samples of others"),
    "pycalls": ("1", "", "calls of others"),
    "reads-by-program": ("1", READERS, "bytes of others"),
    "rubycalls": ("1", "", "calls of others"),
    "slabratetop": ("1", "", "objects of others"),
    "slowstart": ("1", NAPS, "later calls"),
    "stackcount": ("1 vfs_write", WRITES, "calls by other stacks"),
    "stucktask": ("1 1", STUCK, "sleeps of others"),
    "swapin": ("1", TWICE, "pages of others"),
    "tcpsynbl": ("1", SERVERS, "connections to others"),
    "tcptop": ("1", "", "bytes of others"),
    "timerfn": ("1", "", "calls of others"),
    "wakeuptime": ("2", PROCESSES, "sleeps of others"),
    "workq": ("1", "", "pieces of work by others"),
    "wqlat": ("2", "", "pieces of work by others"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_found_no_room_is_counted(
    name: str, release: str, guests: Guests, builds: Builds
) -> None:
    args, command, told = OTHERS[name]
    wanted = f"^[1-9]\\d* {told}: -DMAXMAPENTRIES=NUMBER makes room for them$"
    text = f"# args: -DMAXMAPENTRIES={args}\n# command: {command}\n# expect: {wanted}\n"
    case = told_case(GALLERY[name].path, text, FOLDER)
    case.package = CASES[name].package
    if not command:
        case.command, case.status = CASES[name].command, CASES[name].status
    if why := packages.lacks(case):
        pytest.skip(why)
    [case], roots = packages.at_hand([case])
    with pytest.MonkeyPatch.context() as environment:
        for variable, value in packages.environment(*roots).items():
            environment.setenv(variable, value)
        built = builds.ask(release, case).result()
    guest = guests.get(release)
    for root in roots:
        done = guest.run(["/bin/sh", "-c", packages.ground(root)], timeout=patience(guest) * 60)
        assert done.kind == EXITED and not done.status, done.stderr
    check_case(case, run_built(guest, built, case.words(), case.timeout))


SYSTEMD = Path("/lib/systemd/systemd")
# A boot of systemd's units for `slowboot`; a unit stands there by its control group.
BOOT = """
# command: sh {folder}/systemd.sh
# expect: ^ +\\d+ +[1-9]\\d{2,} +- nothing is started$
# expect: ^ +\\d+ +[1-9]\\d{2,} +\\d+ systemd-\\S+\\(\\d+\\) in /init.scope$
# expect: ^ +\\d+ +(19\\d\\d|[2-9]\\d{3}|\\d{5,}) +\\d+ \\S+\\(\\d+\\) in /\\S*/slow.service$
# expect: ^ +\\d+ +[1-9]\\d{2,} +- module raid6_pq$
"""


def test_a_boot_of_systemd(release: str, guests: Guests, builds: Builds) -> None:
    """What kept it is told by unit: `slowboot` beside systemd as process 1 of a namespace."""
    if not SYSTEMD.exists():
        pytest.skip(f"{SYSTEMD} is not here")
    case = told_case(GALLERY["slowboot"].path, BOOT, FOLDER)
    built = builds.ask(release, case).result()
    result = run_built(guests.get(release), built, case.words(), case.timeout)
    check_case(case, result)
    sample = GALLERY["slowboot"].told["sample"].partition("\n")[2]
    assert not shape.lacking(sample, result.stdout), result.stdout


# The stacks of both pieces are cut to the same text; their sizes together tell what is counted.
LEAKS = """
# args: -DMAXMAPENTRIES=20000
# command: python3 -IS {folder}/leak.py
# expect: ^16665888 bytes in 2 pieces$
"""


def test_all_that_takes_memory(release: str, guests: Guests, builds: Builds) -> None:
    """`memleak` follows calloc and realloc as well as malloc; what is moved is one piece."""
    case = told_case(GALLERY["memleak"].path, LEAKS, FOLDER)
    built = builds.ask(release, case).result()
    check_case(case, run_built(guests.get(release), built, case.words(), case.timeout))


# A program's function instead of the kernel's, which says ECHILD only where two meet.
LOOKUPS = """
#include <errno.h>
__attribute__((noipa)) long lookup_fast(long answer) { return answer; }
int main(void)
{
	static const long answers[] = { 0, -ECHILD, 0x7f0000001000, -ECHILD, 0, -ESTALE, 0,
					-ECHILD, 0xffff888000001000, -ECHILD };

	for (unsigned i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		lookup_fast(answers[i]);
	return 0;
}
"""


def test_what_is_looked_up_again(
    release: str, guests: Guests, builds: Builds, tmp_path: Path
) -> None:
    """`dcstat` counts a name once; an error is no hit."""
    program = compiled(tmp_path, LOOKUPS, "-O2")
    script = tmp_path / "dcstat.stp"
    point = f'process("{program}").function("lookup_fast")'
    text = GALLERY["dcstat"].path.read_text()
    script.write_text(text.replace('kernel.function("lookup_fast")', point))
    case = told_case(script, f"# command: {program}\n# expect: ^ +6 +4 +33$", FOLDER)
    built = builds.ask(release, case).result()
    check_case(case, run_built(guests.get(release), built, case.words(), case.timeout))

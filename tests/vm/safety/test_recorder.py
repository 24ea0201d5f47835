"""Flight recorders: the newest output is kept, in memory or in a row of files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import PANIC, SHARE, Machine
from tests.vm.harness import patience, tools
from tests.vm.safety.support import PRELUDE, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Lines with numbers of their own: of the CPU, of the line on it, of all lines (in the order of a
# lock), and the length that the line must have. A file tells how many there are, another one takes
# how many there shall be.
RECORD = """
global lines, on[64], printed[64], most
probe timer.profile if (lines < most) {
    for (i = 0; i < 12; i++) {
        line = sprintf("%d %d %d %s", cpu(), on[cpu()]++, lines++, substr(@1, 0, 400 + i))
        print(line, ";", strlen(line), "\\n")
        printed[cpu()] += strlen(line) + 5
    }
}
probe procfs("most").write { most = strtol($value, 10) }
probe procfs("lines").read { $value = sprintf("%d\\n", lines) }
probe end {
    foreach (c+ in on) printf("cpu %d lines %d bytes %d\\n", c, on[c], printed[c])
}
"""
TEXT = "abcdefghijklmnopqrstuvwxyz" * 16
PART = 6000  # lines; more than the buffers of two CPUs have room for
LINES = """
lines=0
ask() { # that so many more be printed; a hit that must be skipped is asked for again
    lines=$((lines + $1)); wait_for "echo $lines >/proc/systemtap/record/most"
}
all() { [ $(cat /proc/systemtap/record/lines) -ge $lines ]; }
"""
MARK = re.compile(r"\[(lost|overwrote) (\d+) bytes on cpu (\d+)(?:: ([a-z, ]+))?\]")


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    limits = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=100000000", "-DMAXTRYLOCK=10000")
    words = ("-s", "1", "-G", "most=0", *limits, "-e", RECORD, TEXT)
    return make(release, tmp_path_factory.mktemp("modules"), record=words)


# Old output for several buffers of 1 MB, then a print of most of one, or of more than one. A line
# of 9,005 to 9,007 bytes is a record of its own, and takes so many with its header.
OLD = 9024
BUFFER = 1 << 20
ROOM = 2 * 8192  # that is there for the next record, as for each that begins
LARGE = """
probe procfs("fill").write { for (i = 0; i < 300; i++) printf("old %d%9000d\\n", i, i) }
probe procfs("large").write { printf("%700000d\\n", 7) }
probe procfs("whole").write { printf("%1048550d\\n", 7) }
probe procfs("longer").write { printf("%1048560d\\n", 7) }
"""


@pytest.fixture(scope="module")
def large(release: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    limits = ("-DSTP_NO_OVERLOAD", "-DMAXACTION=10000")
    folder = tmp_path_factory.mktemp("large")
    return make(release, folder, large=("-s", "1", *limits, "-e", LARGE))["large"]


@pytest.mark.parametrize(
    ("what", "size", "least", "most"),
    [
        # It needs its bytes, 24 around them, and the room for what comes next, and not a byte more.
        ("large", 700_000, *[(BUFFER - 700_024 - ROOM) // OLD] * 2),
        ("whole", 1_048_550, 0, 0),
        # Where a record begins there is that room, or an eighth is made free.
        ("longer", 1_048_560, BUFFER * 7 // 8 // OLD, (BUFFER - ROOM) // OLD),
    ],
)
def test_a_large_print_pushes_older_output_out(
    pair: Machine, large: Path, what: str, size: int, least: int, most: int
) -> None:
    """In a recorder that nobody reads it is there, up to what the buffer can hold."""
    text = f"""
    write() {{ wait_for "taskset 1 sh -c 'echo >/proc/systemtap/large/$1'"; }}
    $run -L {pair.push(large)}; write fill; write {what}
    $run -A -T 1 large >{SHARE}/large; echo ended $?; loaded large
    """
    lines, result = shell(pair, {}, text, 120)
    assert lines == ["ended 0", "0"], result.stderr
    rows = (pair.share / "large").read_text().split("\n")
    assert rows.pop() == ""
    marks = [match for row in rows if (match := MARK.fullmatch(row))]
    old = [row for row in rows if row.startswith("old ")]
    printed = sum(len(f"old {i}\n") + 9000 for i in range(300))
    assert marks[0][1] == "overwrote"
    assert int(marks[0][2]) == printed - sum(len(row) + 1 for row in old)
    if what == "longer":
        assert marks[1].groups()[::3] == ("lost", "print longer than the buffer")
        assert int(marks[1][2]) == size + 1 and rows[-2] == old[-1]
    else:
        assert len(marks) == 1 and rows[-1].lstrip() == "7" and len(rows[-1]) == size
    numbers = [int(row.split()[1]) for row in old]
    assert numbers == list(range(300 - len(old), 300))
    assert least <= len(old) <= most


class Stream:
    """What consumers took of one session, one after the other."""

    def __init__(self, rows: list[str]) -> None:
        self.printed: dict[int, int] = {}  # bytes by CPU, as the script counted
        self.numbers: dict[int, list[int]] = {}
        self.bytes: dict[int, int] = {}
        self.missing: dict[str, dict[int, int]] = {"lost": {}, "overwrote": {}}
        self.causes: set[str] = set()
        self.last = -1
        for row in rows:
            if match := MARK.fullmatch(row):
                told = self.missing[match[1]]
                told[int(match[3])] = told.get(int(match[3]), 0) + int(match[2])
                assert bool(match[4]) == (match[1] == "lost"), row
                self.causes.update(match[4].split(", ") if match[4] else ())
            elif match := re.fullmatch(r"cpu (\d+) lines (\d+) bytes (\d+)", row):
                self.printed[int(match[1])] = int(match[3])
            else:
                self._take(row)

    def _take(self, row: str) -> None:
        match = re.fullmatch(r"((\d+) (\d+) (\d+) ([a-z]+));(\d+)", row)
        assert match and len(match[1]) == int(match[6]), f"torn: {row!r}"
        assert match[5] == TEXT[: len(match[5])], f"torn: {row!r}"
        cpu, number, ticket = int(match[2]), int(match[3]), int(match[4])
        assert ticket > self.last, f"order over all CPUs: {row!r} after {self.last}"
        self.last = ticket
        mine = self.numbers.setdefault(cpu, [])
        assert not mine or number > mine[-1], f"order on CPU {cpu}: {row!r}"
        mine.append(number)
        self.bytes[cpu] = self.bytes.get(cpu, 0) + len(row) + 1

    def check(self) -> None:
        """Check that what came and what is told as missing is what was printed."""
        assert len(self.printed) == 2, "only one CPU had something to print"
        for cpu, size in self.printed.items():
            missing = sum(kind.get(cpu, 0) for kind in self.missing.values())
            assert self.bytes.get(cpu, 0) + missing == size, f"CPU {cpu}: {self.missing}"


def test_the_newest_output_is_there_for_who_attaches(
    pair: Machine, modules: dict[str, Path]
) -> None:
    """-A and SIGQUIT between and while two CPUs print several buffers."""
    text = f"""{LINES}
    $run -L $record >{SHARE}/out1; echo left $?
    for part in 1 2; do
        ask {PART}; wait_for all
        $run -A record >{SHARE}/out2.$part & reader=$!
        wait_for "[ -s {SHARE}/out2.$part ]"; ask {PART}
        kill -QUIT $reader; wait $reader; echo left $?
        wait_for all
    done
    ask {PART}; wait_for all
    $run -A -T 1 record >{SHARE}/out3; echo ended $?
    cat {SHARE}/out1 {SHARE}/out2.* {SHARE}/out3 >{SHARE}/all; loaded record
    """
    lines, result = shell(pair, modules, text, 240)
    assert lines == ["left 0"] * 3 + ["ended 0", "0"], result.stderr
    rows = (pair.share / "all").read_text().split("\n")
    assert rows.pop() == ""
    stream = Stream(rows)
    stream.check()
    assert stream.last >= 5 * PART - 1, "the newest line is missing"
    assert stream.causes <= {"buffer being read", "reader too slow"}
    newest = Stream((pair.share / "out3").read_text().split("\n")[:-1])
    for cpu in stream.printed:
        assert stream.missing["overwrote"].get(cpu), "nothing was overwritten"
    # A buffer of 1 MB is kept, but for the eighth that is made room of and a record's length.
    assert max(newest.bytes.values()) > 850 << 10
    assert b"To reconnect" in result.stderr


DISK = 96 << 20


def test_files_are_whole_up_to_the_last_switch_when_the_machine_crashes(
    release: str, modules: dict[str, Path], tmp_path: Path
) -> None:
    """-F -o -S: ten switches, SIGQUIT, -A with other files, and a crash of the kernel."""
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(DISK)
    subprocess.run(["mkfs.ext4", "-q", "-O", "^metadata_csum", disk], check=True)
    with Machine(release, cpus=2) as machine:
        (machine.share / "disk").hardlink_to(disk)  # what the guest sees goes with it
        text = f"""
        tries={600 * patience(machine)}
        modprobe loop; mkdir -p /mnt/disk; mount -o loop {SHARE}/disk /mnt/disk && cd /mnt/disk
        pid=$($run -D -o first -S 1 {machine.push(modules["record"])} most=1000000000)
        wait_for '[ -e first.10 ]'
        kill -QUIT $pid; wait_for '[ ! -d /proc/$pid ]'
        $run -A -D -o second -S 1 record
        wait_for '[ -e second.2 ]'
        echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger
        """
        words = ["sh", "-c", tools(machine) + PRELUDE + text]
        result = machine.run(words, cwd="/tmp", timeout=300 * patience(machine))
        assert result.kind == PANIC, (result.kind, result.stderr)
        subprocess.run(["e2fsck", "-fy", disk], stdout=subprocess.DEVNULL, check=False)
        # A file gets its name when the one before it is on the disk: the last switch made second.2.
        whole = [f"first.{number}" for number in range(11)] + ["second.0", "second.1"]
        rows = []
        for name in whole:
            command = ["debugfs", "-R", f"cat {name}", disk]
            output = subprocess.run(command, capture_output=True, check=True).stdout.decode()
            assert output.endswith("\n"), f"{name} is not whole"
            assert name == "first.10" or len(output) > 900_000, name
            rows += output.split("\n")[:-1]
    stream = Stream(rows)  # nothing is torn, from one file to the next
    assert stream.last > 10 * 2000


LOOP = """
modprobe loop; truncate -s 64M disk; mkfs.ext4 -q disk; mount -o loop disk /mnt/stalls
"""
# As a file server on the network that nobody hears of.
SERVER = Path(__file__).with_name("hung_files.py")
FUSE = f"""
modprobe fuse 2>/dev/null
serve() {{
    python3 {SERVER} /mnt/stalls /bin/true $PWD/silent $PWD/kept &
    server=$!; wait_for '[ -e /mnt/stalls/out ]' $server
}}
serve
"""


@pytest.mark.parametrize(
    ("place", "begin", "stop", "go_on", "end"),
    [
        ("out", "", "kill -STOP $run_pid", "kill -CONT $run_pid", ""),
        ("/mnt/stalls/out", LOOP, "fsfreeze -f /mnt/stalls", "fsfreeze -u /mnt/stalls",
         "umount /mnt/stalls; wait_for 'rmmod loop'"),
        ("/mnt/stalls/out", FUSE, "touch silent", "rm silent",
         "kill -9 $server; umount -l /mnt/stalls"),
    ],
    ids=["consumer", "file system", "file server"],
)  # fmt: skip
def test_what_a_stopped_reader_misses_is_lost_and_told(
    pair: Machine, modules: dict[str, Path], place: str, begin: str, stop: str, go_on: str, end: str
) -> None:
    """For however long: the buffers are full, and stay so until it goes on."""
    text = f"""{LINES}
    mkdir -p /mnt/stalls; {begin}
    $run -o {place} $record 2>err & run_pid=$!
    wait_for '[ -e /proc/systemtap/record/most ]'; ask 100; wait_for '[ -s {place} ]'
    {stop}; ask {2 * PART}; wait_for all
    {go_on}; kill -INT $run_pid; wait $run_pid; echo status $?
    cp {place} {SHARE}/out; {end}
    loaded record; grep -c 'transport failures' err; cp err {SHARE}/err
    """
    lines, result = shell(pair, modules, text, 240)
    assert lines == ["status 0", "0", "1"], result.stderr
    stream = Stream((pair.share / "out").read_text().split("\n")[:-1])
    stream.check()
    assert not stream.missing["overwrote"]
    assert "reader stopped" in stream.causes <= {"reader stopped", "reader too slow"}
    told = re.findall(r"^WARNING: Lost (\d+) bytes of output: ([a-z ]+)$",
                      (pair.share / "err").read_text(), re.M)  # fmt: skip
    assert {cause for _, cause in told} == stream.causes
    assert sum(int(size) for size, _ in told) == sum(stream.missing["lost"].values())

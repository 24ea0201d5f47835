"""More output than anybody takes: what is lost is counted and marked, the rest is whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from stapy.vm.machine import SHARE, Machine
from tests.vm.safety.support import LONG, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LINES = 1_000_000 if LONG else 100_000
STREAM = 400_000 if LONG else 20_000  # of two CPUs; the few fit into the buffers
RUNS = LINES * 3 // 2 // 4000

# Each system call prints some lines with its own numbers: of the CPU, of the line on that CPU, of
# all lines (in the order of a lock), and the length that the line must have.
FLOOD = """
global lines, on[64], printed[64]
probe kernel.trace("raw_syscalls:sys_enter") if (lines < %d) {
    n = on[cpu()]++
    line = sprintf("%%d %%d %%d %%s", cpu(), n, lines++, substr(@1, 0, 10 + n %% 50))
    print(line, ";", strlen(line), "\\n")
    printed[cpu()] += strlen(line) + 4
}
probe end {
    foreach (c+ in on) printf("cpu %%d lines %%d bytes %%d\\n", c, on[c], printed[c])
}
"""
TEXT = "abcdefghijklmnopqrstuvwxyz" * 4


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    words = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=100000000", "-DMAXTRYLOCK=10000")
    return make(
        release,
        tmp_path_factory.mktemp("modules"),
        flood=("-s", "1", *words, "-e", FLOOD % LINES, TEXT),
        stream=(*words, "-e", FLOOD % STREAM, TEXT),
    )


class Came(NamedTuple):
    """What came of the lines, by CPU."""

    printed: dict[int, tuple[int, int]]  # lines and bytes, as the script counted
    numbers: dict[int, list[int]]
    bytes: dict[int, int]
    lost: dict[int, int]  # bytes that marks tell of


def read_rows(output: str) -> Came:
    """Read the lines of a flood: none is torn, all are in order, on each CPU and over all."""
    came = Came({}, {}, {}, {})
    *rows, tail = output.split("\n")
    assert tail == ""
    last = -1
    for row in rows:
        if match := re.fullmatch(r"\[lost (\d+) bytes on cpu (\d+): reader [a-z, ]+\]", row):
            came.lost[int(match[2])] = came.lost.get(int(match[2]), 0) + int(match[1])
        elif match := re.fullmatch(r"cpu (\d+) lines (\d+) bytes (\d+)", row):
            came.printed[int(match[1])] = int(match[2]), int(match[3])
        else:
            match = re.fullmatch(r"((\d+) (\d+) (\d+) ([a-z]+));(\d+)", row)
            assert match, f"torn: {row!r}"
            cpu, number = int(match[2]), int(match[3])
            assert len(match[1]) == int(match[6]), f"torn: {row!r}"
            assert match[5] == TEXT[: 10 + number % 50], f"torn: {row!r}"
            assert int(match[4]) > last, f"order over all CPUs: {row!r} after {last}"
            last = int(match[4])
            mine = came.numbers.setdefault(cpu, [])
            assert not mine or number > mine[-1], f"order on CPU {cpu}: {row!r}"
            mine.append(number)
            came.bytes[cpu] = came.bytes.get(cpu, 0) + len(row) + 1
    return came


def test_flood(pair: Machine, modules: dict[str, Path]) -> None:
    # Reading goes on when all lines are printed, whatever the time that takes; each run of dd makes
    # 4,000 system calls. The end comes when all is read: what it prints is to find room.
    text = f"""
    mkfifo lines
    $run $flood >lines 2>{SHARE}/err & run_pid=$!
    (
        dd bs=64k count=4 iflag=fullblock
        until [ -e all_printed ]; do sleep 0.2; done; dd bs=64k
    ) <lines >{SHARE}/out 2>/dev/null & reader=$!
    wait_for '[ "$(state flood)" = running ]'
    : >runs
    printing() {{
        while nice -n 19 dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null; do printf x; done
    }}
    for process in 1 2; do printing >>runs & storms="$storms $!"; done
    for tenth in $(seq 10); do wait_for "[ \\$(wc -c <runs) -ge $((tenth * {RUNS} / 10)) ]"; done
    calm; touch all_printed
    read_all() {{ set -- $(wc -c <{SHARE}/out); sleep 1; [ $1 = $(wc -c <{SHARE}/out) ]; }}
    wait_for read_all
    kill -INT $run_pid; wait $run_pid; echo status=$?; wait $reader
    """
    lines, result = shell(pair, modules, text, 1800 if LONG else 240)
    errors = (pair.share / "err").read_text()
    assert lines == ["status=0"], errors
    printed, got, got_bytes, lost = read_rows((pair.share / "out").read_text())
    assert len(printed) == 2, "only one CPU had something to print"
    assert sum(lines for lines, _ in printed.values()) == LINES
    for cpu, (lines, size) in printed.items():
        numbers = got.get(cpu, [])
        assert lost.get(cpu, 0) == size - got_bytes.get(cpu, 0), (
            f"CPU {cpu}: {len(numbers)} of {lines} lines came, {size} bytes were printed, "
            f"{got_bytes.get(cpu, 0)} came, {lost.get(cpu, 0)} are marked as lost"
        )
    missing = LINES - sum(map(len, got.values()))
    print(f"\n{LINES} lines, {missing} lost, {sum(lost.values())} bytes, {result.seconds:.0f} s")
    assert missing > 0, "the reader was not slow enough to test anything"
    found = re.search(
        r"^WARNING: There were (\d+) transport failures\. Try stap -s to increase the buffer size "
        r"from 1\.$", errors, re.M,
    )  # fmt: skip
    assert found, errors
    assert int(found[1]) == missing


def test_a_reader_that_keeps_up_misses_nothing(pair: Machine, modules: dict[str, Path]) -> None:
    """Two CPUs print to a file with the buffers that there are by default: each line comes.

    The file is in the guest's memory: the host may take what is shared with it at any pace.
    """
    text = f"""
    $run $stream >out 2>{SHARE}/err & run_pid=$!
    wait_for '[ "$(state stream)" = running ]'
    for cpu in 0 1; do
        nice -n 19 taskset -c $cpu dd if=/dev/zero of=/dev/null bs=1 count={STREAM // 4} \
            2>/dev/null & storms="$storms $!"
    done
    wait $storms; storms=
    nice -n 19 dd if=/dev/zero of=/dev/null bs=1 count={STREAM // 4} 2>/dev/null
    kill -INT $run_pid; wait $run_pid; echo status=$?; cp out {SHARE}
    """
    lines, result = shell(pair, modules, text, 1800 if LONG else 240)
    errors = (pair.share / "err").read_text()
    assert (lines, errors) == (["status=0"], "")
    came = read_rows((pair.share / "out").read_text())
    counts = {cpu: lines for cpu, (lines, _) in came.printed.items()}
    assert len(counts) == 2 and sum(counts.values()) == STREAM, counts
    assert not came.lost
    assert {cpu: len(numbers) for cpu, numbers in came.numbers.items()} == counts
    print(f"\n{STREAM} lines of 2 CPUs, none lost, {result.seconds:.0f} s")

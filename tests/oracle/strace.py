"""System calls as strace names their arguments, beside `tests/tapsets/every_call.table`.

    python -m tests.oracle.strace [--kernel 6.1]

The table says what our aliases show of each call, and a test compares that with what they do show.
Here the program that makes those calls runs under strace, in a guest. Both must have the meaning
alike, not the form: the names of constants among the arguments. Texts and numbers are not
compared, nor what stands in braces and brackets, which strace reads from memory where an alias
shows an address. A name that only one of the two gives is a difference; `strace.txt` has those that
are known, with the reasons. The exit status is 1 when there are others.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from stapy.vm.machine import Machine
from tests.oracle.__main__ import release_of
from tests.vm.harness import ROOT

LIST = Path(__file__).with_name("strace.txt")
PROGRAM = ROOT / "tests" / "tapsets" / "every_call.py"
EXPECTED = "-7777"  # the descriptor of the write that tells what the next call should show
SECONDS = 600.0
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_MARK = re.compile(rf"write\({EXPECTED}, ({_TEXT.pattern}), \d+\)")
_INSIDE = re.compile(r"\{[^{}]*\}|\[[^][]*\]|/\*.*?\*/")
_NAME = re.compile(r"\b(?:[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]|SIG[A-Z0-9]+)\b")


def calls(log: str) -> Iterator[tuple[str, str]]:
    """Yield what the table shows of each call with the line that strace has of it."""
    labels: dict[str, str] = {}
    for line in log.splitlines():
        process, _, text = line.partition(" ")
        text = text.strip()
        mark = _MARK.match(text)
        if mark:
            labels[process] = plain(mark[1][1:-1])
        elif process in labels and re.match(r"\w+\(", text):
            yield labels.pop(process), text


def plain(text: str) -> str:
    """Undo the escapes of strace in a text."""
    return text.encode("latin-1", "replace").decode("unicode_escape")


def arguments(text: str) -> str:
    """Cut the arguments out of a call as strace shows it, without its texts."""
    text = _TEXT.sub('""', text)
    return text[text.index("(") + 1 :].rpartition(" = ")[0] or text[text.index("(") + 1 :]


def names(text: str) -> set[str]:
    """List the constants of a text, spelled alike, but for those of structures and lists."""
    text = _TEXT.sub('""', text)
    while _INSIDE.search(text):
        text = _INSIDE.sub(" ", text)
    return {spelled(name) for name in _NAME.findall(text)} - {"SIG_0"}


def spelled(name: str) -> str:
    """Spell a name as strace does where the alias has SystemTap's spelling."""
    name = re.sub(r"^PF_", "AF_", name).replace("SIGRT_", "SIGRT")
    return name.replace("AF_LOCAL", "AF_UNIX")


def differences(log: str) -> list[str]:
    """List in what names a call differs: ``CALL | of ours alone | of strace's alone``."""
    found = []
    for ours, theirs in calls(log):
        left, right = names(ours), names(arguments(theirs))
        row = f"{theirs.partition('(')[0]} | {words(left - right)} | {words(right - left)}"
        if left != right and row not in found:
            found.append(row)
    return found


def words(found: set[str]) -> str:
    """Join names for a row."""
    return " ".join(sorted(found)) or "-"


def listed(text: str) -> list[str]:
    """Read the rows that are known; lines that begin with # say why."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def run(release: str) -> str:
    """Run the program under strace in a guest; return strace's log.  Raises RuntimeError."""
    command = f"strace -f -v -s 500 -o /tmp/calls python3 {PROGRAM} && cat /tmp/calls"
    with Machine(release) as machine:
        result = machine.run(["/bin/sh", "-c", command], timeout=SECONDS)
    if result.status != 0 or EXPECTED.encode() not in result.stdout:
        raise RuntimeError(f"{result.kind}, status {result.status}: {result.stderr[-500:]!r}")
    return result.stdout.decode("utf-8", "replace")


def main() -> int:
    """Print what differs and is not known, and what is known and no longer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.strace", description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    log = run(release_of(parser.parse_args().kernel))
    found, known = differences(log), listed(LIST.read_text(encoding="utf-8"))
    for row in found:
        if row not in known:
            print(f"not explained: {row}")
    for row in known:
        if row not in found:
            print(f"no longer differs: {row}")
    print(f"{len(list(calls(log)))} calls, {len(found)} kinds of difference")
    return 1 if set(found) - set(known) else 0


if __name__ == "__main__":
    raise SystemExit(main())

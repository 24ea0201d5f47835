"""Scripts under both, compared: what was printed, what was complained about, how it ended.

Compared as they are, but for what cannot be alike:

- the warning that SystemTap gives where the kernel's symbols are not at hand (Debian's System.map
  is a stub), and its hint where to read on;
- places in tapsets, which are not the same files;
- more than two calls that an error came through: SystemTap cuts such a message somewhere;
- addresses of the kernel's, which no two runs have in common;
- colours, the prefix that stapy's messages of passes 1 to 4 have and SystemTap's have not: warnings
  given while a script is translated are not compared at all (their texts have tables of their own).
"""

from __future__ import annotations

import difflib
import re
import shutil
from pathlib import Path

from stapy.record import Record, new
from stapy.vm.machine import EXITED, TIMEOUT, Machine
from tests.oracle import guest
from tests.oracle.known import PROGRAMS, Known
from tests.oracle.programs import Program, script
from tests.vm import harness
from tests.vm.harness import Built, Case, ScriptResult

SIDES = ("systemtap", "stapy")
# Many handlers of one session: each error is shown, none ends the session.
# Both derive the depth of calls from all of a script: how deep one program gets must not depend on
# the others.
WORDS = ("-DMAXACTION=100000000", "-DMAXERRORS=100000", "-DSTP_NO_OVERLOAD", "-DMAXNESTING=10")
# Random C makes gcc warn, which SystemTap takes for errors; and its C takes gcc minutes with -O2.
# Not KCFLAGS: SystemTap tries the kernel's features with those, and fewer errors mislead it.
QUICK = "-BCFLAGS_MODULE=-w -O1"


class Difference(Record):
    """A program or case that the two do not agree on, and the lines of it that nothing explains."""

    name: str
    text: str
    script: str = ""
    unexplained: list[str] = new(list)


class Tally(Record):
    """What a comparison came to, judged by what is known of this kernel (`rows`)."""

    rows: list[Known] = new(list)
    same: int = 0
    refused: int = 0
    only_ours: list[str] = new(list)  # what SystemTap alone refuses, with its first reason
    known: int = 0
    explained: list[str] = new(list)  # what differs as the rows say, with the rows
    gone: list[str] = new(list)  # lines of rows that no longer differ
    differences: list[Difference] = new(list)  # what is not explained, in full or in part

    def judge(self, name: str, texts: list[str], program: str | None = None) -> None:
        """Count a case by what both sides made of it; or a random program, whose text is given."""
        rows = [row for row in self.rows if row.case == (name if program is None else PROGRAMS)]
        difference = unified(texts)
        changes = changed(difference)
        self.gone += [f"{name}: {line}" for row in rows for line in row.unseen(changes)]
        left = [line for line in changes if not any(row.explains(line) for row in rows)]
        if left:
            self.differences.append(Difference(name, difference, program or "", left))
        elif changes:
            used = [row.row for row in rows if any(map(row.explains, changes))]
            self.known += 1
            self.explained.append(f"{name}: {'; '.join(used)}")
        else:
            self.same += 1

    def __str__(self) -> str:
        """Print the counts."""
        return (
            f"{self.same} alike, {self.refused} refused, {self.known} known, "
            f"{len(self.differences)} unexplained"
        )


def messages(result: ScriptResult) -> list[str]:
    """List the messages of the run itself, comparable."""
    lines = []
    for line in result.stderr.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if re.match(r"(ERROR|WARNING): ", line) and "symbol table missing" not in line:
            line = re.sub(r" at \S+/\S+\.stpm?:\d+:\d+", " at TAPSET", line)
            lines.append(re.sub(r"((?: \(called from [^)]*\)){2}) \(called from .*", r"\1 …", line))
    return [line for line in lines if not re.search(r"\[W\d+\]$", line)]


def compared(result: ScriptResult) -> str:
    """Print all of a result that must be alike."""
    ended = how_it_ended(result)
    said = "".join(f"stderr: {line}\n" for line in run_messages(result))
    text = f"{result.stdout}{said}status: {result.status}\n{ended}"
    return re.sub(r"\bffff[0-9a-f]{12}\b|\b0xffff[0-9a-f]{12}\b", "ADDRESS", text)


def how_it_ended(result: ScriptResult) -> str:
    """Print what became of a run that did not exit; nothing of one that did."""
    if result.kind == EXITED:
        return ""
    # The log of a guest that had no more time is that of its being stopped.
    return f"[{result.kind}]\n" + ("" if result.kind == TIMEOUT else result.dmesg[-2000:])


def run_messages(result: ScriptResult) -> list[str]:
    """List the messages of pass 5: those of the passes before it are of another form."""
    early = r"WARNING: (Eliding|.*: [a-z]+ '.*' at (\S*:\d+:\d+|TAPSET)$)"
    return [line for line in messages(result) if not re.match(early, line)]


def unified(texts: list[str]) -> str:
    """Compare the two sides; return their difference."""
    lines = [text.splitlines() for text in texts]
    return "\n".join(difflib.unified_diff(*lines, *SIDES, lineterm="", n=2))


def changed(difference: str) -> list[str]:
    """List the lines of a difference that one side alone has, with its sign."""
    return [line for line in difference.splitlines()[2:] if line.startswith(("+", "-"))]


def run_case(machine: Machine, case: Case, folder: Path, tally: Tally, debug: bool = False) -> None:
    """Compare a case of tests/vm or tests/tapsets."""
    words, theirs, ours = guest.build_case(machine.release, case, folder, debug)
    name = str(case.path.relative_to(harness.ROOT))
    if theirs.module is None:
        tally.refused += 1
        reasons = [line for line in theirs.stderr.splitlines() if "error: " in line]
        if ours.module is not None:
            tally.only_ours.append(f"{name}: {' '.join(reasons[:1])}")
    elif ours.module is None:
        tally.judge(name, ["", refusal(ours)])
    else:
        texts = [
            compared(
                guest.run_built(machine, theirs, words, case.timeout * harness.patience(machine))
            ),
            compared(harness.run_built(machine, ours, words, case.timeout)),
        ]
        tally.judge(name, texts)
    shutil.rmtree(folder, ignore_errors=True)


def refusal(built: Built) -> str:
    """Print the reasons why a side made no module; never nothing."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", built.stderr).splitlines()
    reasons = [line.strip() for line in plain if "error" in line] or plain or ["no message"]
    return "".join(f"refused: {line}\n" for line in reasons)


class Batches:
    """Random programs, many in one script."""

    def __init__(self, machine: Machine, folder: Path, tally: Tally) -> None:
        self.machine = machine
        self.folder = folder
        self.tally = tally

    def run(self, seeds: list[int]) -> None:
        """Compare the programs of these seeds; halves of the batch where one side refuses it."""
        folder = self.folder / f"{seeds[0]}-{len(seeds)}"
        folder.mkdir(parents=True)
        programs = [Program(seed) for seed in seeds]
        (folder / "programs.stp").write_text(script(programs))
        words = ["programs.stp", *WORDS]
        release = self.machine.release
        theirs = guest.build(release, [*words, QUICK], folder)
        broken = theirs.module is None and len(seeds) > 1
        ours = theirs if broken else harness.build(release, words, folder)
        if theirs.module is None or ours.module is None:
            if len(seeds) > 1:
                middle = len(seeds) // 2
                self.run(seeds[:middle])
                self.run(seeds[middle:])
            elif theirs.module is None and (ours.module is None or _failed(theirs)):
                self.tally.refused += 1
            else:
                texts = ["" if side.module else refusal(side) for side in (theirs, ours)]
                self.tally.judge(f"program {seeds[0]}", texts, script(programs))
            return
        results = [
            guest.run_built(self.machine, theirs, words, 300.0),
            harness.run_built(self.machine, ours, words, 300.0),
        ]
        self.compare(programs, results)

    def compare(self, programs: list[Program], results: list[ScriptResult]) -> None:
        """Judge the programs of a batch by what the two sessions printed."""
        pieces = [_pieces(result) for result in results]
        nothing = [f"nothing of {side}\n" for side in SIDES]
        for program in programs:
            name = str(program.seed)
            texts = [piece.get(name, other) for piece, other in zip(pieces, nothing)]
            self.tally.judge(f"program {name}", texts, script([program]))
        ends = [piece.get("end", other) for piece, other in zip(pieces, nothing)]
        if ends[0] != ends[1]:
            name = f"the end of programs {programs[0].seed} to {programs[-1].seed}"
            self.tally.judge(name, ends, "")


def _failed(built: Built) -> bool:
    """Tell whether SystemTap did not refuse a script, but broke down over it."""
    return "Assertion `" in built.stderr or "takes for ever" in built.stderr


def _pieces(result: ScriptResult) -> dict[str, str]:
    """Split output and messages by program; how it ended is under "end"."""
    parts = re.split(r"^=== (\w+)\n", result.stdout, flags=re.MULTILINE)
    pieces = dict(zip(parts[1::2], parts[2::2]))
    rest = []
    for line in run_messages(result):
        match = re.search(r"begin\((\d+)\)", line) or re.search(r"'[a-z](\d+)'", line)
        if match and match[1] in pieces:
            pieces[match[1]] += f"stderr: {line}\n"
        else:
            rest.append(line)
    ended = how_it_ended(result)
    left = _share_out(pieces.get("end", ""), pieces)
    pieces["end"] = "\n".join([left, *rest, f"status {result.status}", ended])
    return pieces


def _share_out(text: str, pieces: dict[str, str]) -> str:
    """Give each program the globals that were printed for it at the end; the rest is returned.

    In the order of their texts: SystemTap's order of many globals is not that of anything in the
    script, and that of elements that are as large as each other nobody promises.
    """
    left, shown = "", []
    for part in re.split(r"^(?=[a-egt]\d+(?:\[|=| @count=))", text, flags=re.MULTILINE):
        match = re.match(r"[a-z](\d+)", part)
        if match and match[1] in pieces:
            shown.append((part, match[1]))
        else:
            left += part
    for part, name in sorted(shown):
        pieces[name] += part
    return left

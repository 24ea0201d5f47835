"""``stapy doctor``: what this machine has for scripts, what is in the way, and the way out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stapy import __version__
from stapy.diagnostics import Stop
from stapy.diagnostics.layouts import json_line
from stapy.diagnostics.render import fold, one_line, terminal_width, use_color
from stapy.options import Options
from stapy.options.setters import MESSAGE_FORMATS
from stapy.session import inputs
from stapy.session.messages import PassMessages
from stapy.terminal import writing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser
from stapy.tools.examination import BAD, LIMITED, OK, Examination, Finding

if TYPE_CHECKING:
    from stapy.kernel import Kernel

_COLORS = {OK: "32", LIMITED: "33", BAD: "01;31"}
# Without these no module can be made, not even for the kernel of a virtual machine.
_ALWAYS = frozenset({"programs", "packages"})
RUNS, BUILDS, IN_MACHINE, NOT = "runs", "builds", "vm", "no"
_SAID = {
    RUNS: "Scripts run on this kernel.",
    BUILDS: "Modules for this kernel can be made here (-p4); stapy-run loads them where it runs.",
    IN_MACHINE: "This kernel cannot run scripts; a virtual machine can: stapy --vm …",
    NOT: "Scripts cannot run here: see what is bad.",
}
_END = """\
The exit status is 0 when nothing is bad: scripts run on this kernel, or modules for it (-r) can be
made. It is 1 when something is bad, 2 when the question could not be asked."""


class Diagnosis:
    """What was found, and what follows from it."""

    def __init__(self, kernel: Kernel, findings: list[Finding]) -> None:
        self.kernel = kernel
        self.findings = findings

    @property
    def verdict(self) -> str:
        """One word for the whole: runs, builds, vm or no."""
        bad = {row.name for row in self.findings if row.state == BAD}
        if not bad:
            return RUNS if self.kernel.is_running else BUILDS
        machine = any(row.name == "qemu" and row.state == OK for row in self.findings)
        return IN_MACHINE if machine and self.kernel.is_running and not bad & _ALWAYS else NOT

    @property
    def status(self) -> int:
        """The exit status."""
        return int(self.verdict not in (RUNS, BUILDS))

    def as_data(self) -> dict[str, object]:
        """Return all answers for JSON; docs/tools.md describes the fields."""
        return {
            "stapy": __version__,
            "python": sys.version.split()[0],
            "kernel": self.kernel.release,
            "arch": self.kernel.arch,
            "running": self.kernel.is_running,
            "verdict": self.verdict,
            "checks": [
                {"name": row.name, "state": row.state, "text": row.text, "remedy": row.remedy}
                for row in self.findings
            ],
        }

    def as_text(self, in_color: bool, width: int) -> str:
        """Write the screen, with lines of at most ``width`` columns (0: as long as they are)."""
        lines = [f"stapy {__version__}, Python {sys.version.split()[0]}", ""]
        for row in self.findings:
            lines += _row(row, in_color, width)
        return "\n".join([*lines, "", _SAID[self.verdict], ""])


def _row(row: Finding, in_color: bool, width: int) -> list[str]:
    state = f"{row.state:<8}"
    if in_color:
        state = f"\033[{_COLORS[row.state]}m{state}\033[0m"
    room = max(width - 22, 30) if width else 10**6
    first, *more = fold(one_line(row.text), room, room)
    lines = [f"  {row.name:<10} {state} {first}", *(" " * 22 + line for line in more)]
    if row.remedy:
        first, *more = fold(one_line(row.remedy), room - 3, room - 3)
        lines += [" " * 22 + f"-> {first}", *(" " * 25 + line for line in more)]
    return lines


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    it = ToolArgumentParser(
        "doctor", "Look at what scripts need on this machine, and say what is missing.", _END
    )
    it.add_argument("-r", dest="release", metavar="RELEASE", help="another kernel, or a build tree")
    it.add_argument("--sysroot", metavar="DIR", help="look for that kernel in this file tree")
    it.add_argument("--message-format", dest="form", metavar="FORM", choices=MESSAGE_FORMATS,
                    default="", help="json: one object; others are the screen")  # fmt: skip
    it.add_argument("--color", "--colour", dest="color", metavar="WHEN", default="auto",
                    nargs="?", const="always", choices=("auto", "always", "never"),
                    help="colours: auto (on a terminal), always, never")  # fmt: skip
    return it


def examine(release: str | None, sysroot: str | None, form: str) -> Diagnosis | None:
    """Look at everything; None when there is no such kernel, which was said then."""
    messages = PassMessages(Options(release=release, sysroot=sysroot, message_format=form))
    try:
        kernel = inputs.find_kernel(messages)
    except Stop:
        messages.show()
        return None
    return Diagnosis(kernel, Examination(kernel, messages.diagnostics).findings())


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    given = parser().take(words)
    if given.sysroot and not given.release:
        parser().error("--sysroot needs -r: which kernel of that tree is meant?")
    answer = examine(given.release, given.sysroot, given.form)
    if answer is None:
        return UNUSABLE
    if given.form == "json":
        writing.write(json_line(answer.as_data()) + "\n")
    else:
        width = terminal_width() if sys.stdout.isatty() else 0
        writing.write(answer.as_text(use_color(given.color, sys.stdout), width))
    return answer.status

"""``stapy fmt``: scripts with their blanks, indents and empty lines in order."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from stapy.diagnostics import Bug
from stapy.options import Options
from stapy.parse.encoding import plain, refuse_wide
from stapy.parse.format.layout import formatted_as_written
from stapy.session.messages import PassMessages
from stapy.terminal import writing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain, no_script
from stapy.tools.replacing import replace

_END = """\
No token is changed, added or taken away: comments and embedded C stay as they are, and lines end
where they did. The exit status is 0, 1 when --check found something, 2 when a file cannot be
read."""


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    it = ToolArgumentParser(
        "fmt", "Put the blanks, indents and empty lines of scripts in order.", _END
    )
    it.add_argument("--check", action="store_true",
                    help="write nothing; name the files that are not in order")  # fmt: skip
    it.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    it.add_argument("--indent", metavar="N", default="4", help="blanks of a level (4), or 'tab'")
    it.add_argument("files", metavar="FILE", nargs="+", help="'-' is standard input, to the output")
    return it


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    options = parser()
    given = options.take(words)
    if given.indent != "tab" and given.indent not in map(str, range(1, 17)):
        options.error(f"--indent wants 1 to 16, or 'tab', not '{given.indent}'")
    indent = "\t" if given.indent == "tab" else " " * int(given.indent)
    status = 0
    for name in given.files:
        try:
            status = max(status, _one(name, indent, given.check, given.diff))
        except OSError as error:
            complain(f"stapy fmt: {no_script(name, error)}")
            status = UNUSABLE
    return status


def _one(name: str, indent: str, check: bool, diff: bool) -> int:
    """Format one file, or say what is wrong with it."""
    shown = "<stdin>" if name == "-" else name
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    text = data.decode("utf-8", "surrogateescape")
    result = in_order(shown, text, indent)
    if result is None:
        return UNUSABLE
    is_changed = result != text
    if diff and is_changed:
        lines = difflib.unified_diff(
            text.splitlines(keepends=True), result.splitlines(keepends=True), shown, shown
        )
        _put("".join(line if line.endswith("\n") else line + "\n" for line in lines))
    if check:
        if is_changed and not diff:
            _put(f"{shown}\n")
        return int(is_changed)
    if diff:
        return 0
    if name == "-":
        _put(result)
    elif is_changed:
        replace(Path(name), result.encode("utf-8", "surrogateescape"))
    return 0


def in_order(name: str, text: str, indent: str) -> str | None:
    """Format a text; None when it was refused, with the reason on standard error."""
    messages = PassMessages(Options())
    result = None
    try:
        if not refuse_wide(name, text, messages.diagnostics):
            source = messages.sources.add(name, plain(text))
            result = formatted_as_written(text, source, messages.diagnostics, indent)
    except Bug as error:
        complain(f"{name} is left as it is: {error}; this is a mistake in stapy, please report it")
        return None
    messages.at_pass = 1
    messages.show()
    return result


def _put(text: str) -> None:
    """Write text on standard output, with bytes that are no UTF-8 as they were."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="surrogateescape")
    writing.write(text)

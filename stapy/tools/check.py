"""``stapy check``: passes 1 to 3 of scripts for any kernels; nothing is compiled or loaded.

A kernel is one that is installed, a build tree, or a file with its BTF, which is enough for all
that needs no debug package.  `outcomes.py` has the forms that programs read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.diagnostics import Span, Stop
from stapy.kernel import Kernel, find_kernel
from stapy.kernel.target import kernel_of_btf
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.options.setters import MESSAGE_FORMATS
from stapy.parse.encoding import plain
from stapy.record import Record
from stapy.session.check import Check
from stapy.session.messages import PassMessages
from stapy.terminal import writing
from stapy.tools import replacing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain, no_script
from stapy.tools.firstline import about_translation, words_of
from stapy.tools.outcomes import WHOLE, Outcome, as_json, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_END = """\
Options in a script's first line (#! /usr/bin/stap -g) count, as far as they are about translation,
and so do options and arguments behind '--', for all scripts. With several -r and --btf each script
is checked for each of those kernels. No privilege is needed.

The exit status is 0, 1 for an error (with -W also for a warning), 2 when a script or a kernel
cannot be read."""


class Asked(Record):
    """A command line: which scripts, for which kernels, and how they are translated."""

    files: list[str]
    kernels: list[Kernel]
    options: Options


def parser() -> ToolArgumentParser:
    """Describe the command line."""
    it = ToolArgumentParser("check", "Find the mistakes of scripts, for one or more kernels.", _END)
    it.add_argument("-r", dest="releases", metavar="RELEASE", action="append", default=[],
                    help="a kernel that is installed here, or a build tree")  # fmt: skip
    it.add_argument("--btf", metavar="RELEASE=FILE", action="append", default=[],
                    help="a kernel by a copy of /sys/kernel/btf/vmlinux, or image")  # fmt: skip
    it.add_argument("--config", metavar="FILE", help="the configuration of the kernel of --btf")
    it.add_argument("--message-format", dest="form", metavar="FORM", default="rich",
                    choices=(*MESSAGE_FORMATS, *WHOLE),
                    help="rich, systemtap, short, json, sarif, junit")  # fmt: skip
    it.add_argument("-o", dest="output", metavar="FILE", help="write to FILE")
    it.add_argument("-W", dest="strict", action="store_true", help="warnings count as errors")
    it.add_argument("-w", dest="quiet", action="store_true", help="leave warnings out")
    it.add_argument("files", metavar="SCRIPT", nargs="+", help="'-' is standard input")
    return it


def main(words: list[str]) -> int:
    """Obey a command line; return the exit status."""
    end = words.index("--") if "--" in words else len(words)
    options = parser()
    given = options.take(words[:end])
    if given.config and (len(given.btf) != 1 or given.releases):
        options.error("--config is that of one --btf, and of no other kernel")
    try:
        more = about_translation(["-p3", *words[end + 1 :]], Options())
        kernels = _kernels(given.releases, given.btf, given.config, more.architecture)
        asked = Asked(given.files, kernels, more)
    except UsageError as error:
        complain(f"stapy check: {error}")
        return UNUSABLE
    except Stop:
        return UNUSABLE  # why was told
    asked.options.suppress_warnings = given.quiet
    asked.options.message_format = given.form if given.form in MESSAGE_FORMATS else "short"
    if given.output is not None or not sys.stdout.isatty():
        asked.options.color = "never"
    try:
        if given.output is None:
            return _write(asked, given.form, writing.write, given.strict)
        with replacing.written(given.output) as put:
            return _write(asked, given.form, put, given.strict)
    except replacing.WriteError as error:
        complain(f"stapy check: {error}")
        return UNUSABLE


def _write(asked: Asked, form: str, put: Callable[[str], None], strict: bool) -> int:
    """Check everything, and write messages as they are found where the form allows it."""
    status = 0
    whole: list[Outcome] = []
    of_script: list[Outcome] = []
    for outcome in _checked(asked):
        status = max(status, outcome.status(strict))
        if form in WHOLE:
            whole.append(outcome)
        elif form == "json":
            put(as_json(outcome))
        else:
            of_script.append(outcome)
            if len(of_script) == len(asked.kernels):
                put(as_text(of_script))
                of_script = []
    if form in WHOLE:
        put(WHOLE[form](whole))
    return status


def _kernels(
    releases: list[str], files: list[str], config: str | None, architecture: str
) -> list[Kernel]:
    """Find the kernels; `Stop` when one is not here, which was told then."""
    messages = PassMessages(Options())
    wanted: list[str | None] = [*releases]
    try:
        found = [
            find_kernel(release, messages.diagnostics, None, architecture)
            for release in wanted or ([] if files else [None])
        ]
    finally:
        messages.show()
    return found + [_kernel_of(text, config) for text in files]


def _kernel_of(text: str, config: str | None) -> Kernel:
    """Take ``RELEASE=FILE`` apart; `UsageError` when no file of BTF is there."""
    release, equals, name = text.partition("=")
    if not (equals and name and release[:1].isdigit()):
        raise UsageError(f"--btf wants RELEASE=FILE, such as 6.1.0-13-amd64={name or text}")
    for path in (name, config):
        try:
            if path is not None:
                Path(path).open("rb").close()
        except OSError as error:
            raise UsageError(f"'{path}': {error.strerror}") from None
    return kernel_of_btf(release, Path(name), Path(config) if config else None)


# --- one script for one kernel ----------------------------------------------------


def _checked(asked: Asked) -> Iterator[Outcome]:
    """Check each script, read once, for each kernel."""
    for name in asked.files:
        shown = "<stdin>" if name == "-" else name
        try:
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            complain(f"stapy check: {no_script(name, error)}")
            why = error.strerror or "cannot be read"
            yield from (Outcome(shown, kernel.release, [], why) for kernel in asked.kernels)
            continue
        text = data.decode("utf-8", "surrogateescape")
        yield from (checked(shown, text, kernel, asked.options) for kernel in asked.kernels)


def checked(name: str, text: str, kernel: Kernel, options: Options) -> Outcome:
    """Translate a script for a kernel; return what was found."""
    check = Check(options, name, text)
    if _obeys_first_line(check, text):
        check.translate_for(kernel)
    check.show()
    return Outcome(name, kernel.release, check.messages)


def _obeys_first_line(session: Check, text: str) -> bool:
    """Take the options of ``#! /usr/bin/stap -g`` as the kernel would hand them on, if it can."""
    try:
        words = words_of(text)
        if not words:
            return True
        session.options = about_translation(words, session.options)
        session.take_extra_scripts()
    except (UsageError, ValueError) as error:
        name = session.texts[0][0]
        shown = plain(text)
        span = Span(session.sources.add(name, shown), 0, len(shown.partition("\n")[0]))
        session.diagnostics.error(
            "parse error", "E0193", f"options of the first line: {error}", span
        )
        return False
    return True

"""``stapy complete``: what a shell offers for a word, and what makes shells ask.

The shell hands over its line up to the cursor.  Points of probes come from where editors have
them, everything else from the tables of options.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from stapy.options import foreign
from stapy.options.option import Option
from stapy.options.table import TABLE
from stapy.options.tools import TOOLS
from stapy.record import Record
from stapy.terminal import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.editor.complete import CompletionAnswers
    from stapy.tools.arguments import ToolArgumentParser

_END = """\
bash, in ~/.bashrc:                    eval "$(stapy complete bash)"
zsh, in ~/.zshrc behind compinit:      eval "$(stapy complete zsh)"
fish, in ~/.config/fish/config.fish:   stapy complete fish | source"""

SHELLS = {
    "bash": """\
_stapy() {
    local IFS=$'\\n'
    COMPREPLY=($(stapy complete --for bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    compopt -o nospace 2>/dev/null
    [ "${#COMPREPLY[@]}" -gt 0 ] || compopt -o default -o bashdefault +o nospace 2>/dev/null
}
complete -F _stapy stapy
""",
    "zsh": """\
_stapy() {
    local -a found
    found=("${(@f)$(stapy complete --for zsh -- "${LBUFFER}" 2>/dev/null)}")
    found=(${found:#})
    if (( $#found )); then compadd -S '' -- "${found[@]}"; else _files; fi
}
compdef _stapy stapy
""",
    "fish": """\
complete -c stapy -a '(stapy complete --for fish -- (commandline -cp) 2>/dev/null)'
""",
}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# Bytes of a line in pieces that a shell quotes in the same way.
_PIECE = re.compile(r"""'([^']*)('|\Z)|"((?:[^"\\]|\\.)*)("|\Z)|((?:[^\s'"\\]|\\.|\\\Z)+)|(\s+)""",
                    re.DOTALL)  # fmt: skip
_BREAKS = re.compile(r".*[=:]", re.DOTALL)  # where bash begins another word, outside of quotes


class CommandLine(Record):
    """A command line up to the cursor: words, and the one that is being typed.

    ``quote`` is the quote that it stands in, "" outside.
    """

    words: list[str]
    typed: str = ""
    quote: str = ""


class Offer(Record):
    """A word that could stand there, with a few words about it."""

    text: str
    about: str = ""


def line_of(text: str) -> CommandLine:
    """Take a line apart as a shell does, as far as it goes."""
    line = CommandLine([])
    is_open = False
    for piece in _PIECE.finditer(text):
        single, closes, double, closes_too, plain, blank = piece.groups()
        if blank is not None:
            if is_open:
                line.words.append(line.typed)
            line.typed, line.quote, is_open = "", "", False
            continue
        is_open = True
        if single is not None:
            line.typed += single
            line.quote = "" if closes else "'"
        elif double is not None:
            line.typed += re.sub(r'\\([\\"$`])', r"\1", double)
            line.quote = "" if closes_too else '"'
        else:
            line.typed += _ESCAPED.sub(r"\1", plain)
            line.quote = ""
    return line


def offers(line: CommandLine) -> list[Offer]:
    """List what the word that is typed could become; nothing leaves it to the shell: files."""
    found = {one.text: one for one in _asked(line) if one.text.startswith(line.typed)}
    return [found[text] for text in sorted(found)]


def _asked(line: CommandLine) -> Iterable[Offer]:
    words, typed = line.words[1:], line.typed
    if "--" in words:
        return ()
    if words and words[0] in TOOLS:
        return _of_tool(words[0], typed)
    before = words[-1] if words else ""
    option = _named(before)
    if option is not None and option.value and not option.value.startswith("["):
        return _values(option, typed)
    if typed.startswith("--") and "=" in typed:
        option = _named(typed.partition("=")[0])
        head, _, rest = typed.partition("=")
        values = _values(option, rest) if option is not None else ()
        return (Offer(f"{head}={one.text}", one.about) for one in values)
    if typed.startswith("-"):
        return _options()
    return () if words else (Offer(name, about) for name, about in TOOLS.items())


def _named(word: str) -> Option | None:
    """Find the option that a word is, or ends with as in -vl."""
    if word.startswith("--"):
        return next((one for one in [*TABLE, *foreign.TABLE] if f"--{one.long}" == word), None)
    if not word.startswith("-") or len(word) < 2:
        return None
    return next((one for one in TABLE if one.short == word[-1]), None)


def _options() -> Iterator[Offer]:
    for option in TABLE:
        if option.long:
            ends = "=" if option.value and not option.value.startswith("[") else ""
            yield Offer(f"--{option.long}{ends}", option.help)
        if option.short:
            yield Offer(f"-{option.short}", option.help)


def _of_tool(name: str, typed: str) -> Iterator[Offer]:
    """List the options of a tool, as its parser has them."""
    made = getattr(import_module(f"stapy.tools.{name}"), "parser", None)
    if made is None or not typed.startswith("-"):
        return
    for action in made()._actions:
        for word in action.option_strings:
            yield Offer(word, action.help or "")


# --- values of options --------------------------------------------------------------


def _values(option: Option, typed: str) -> Iterable[Offer]:
    if option.short in ("l", "L"):
        return _points(typed, "probe ")
    if option.short in ("e", "E"):
        return _points(typed, "")
    if option.value in ("RELEASE", "[RELEASE]"):
        return _releases()
    if option.short == "D":
        from stapy.translate.tables.limits import LIMITS

        return (Offer(f"{limit.name}=") for limit in LIMITS)
    if option.value == "MODULE":
        return (Offer(name) for name in _bench().modules(typed))
    if option.value == "CODE":
        from stapy.diagnostics.explain import pages

        return (Offer(code, text.partition("\n")[0]) for code, text in pages().items())
    return (Offer(word) for word in option.words)


def _releases() -> Iterator[Offer]:
    from stapy.kernel import installed_releases
    from stapy.kernel.release import version_tuple

    for release in installed_releases():
        yield Offer(release)
        yield Offer(".".join(map(str, version_tuple(release)[:2])), "the newest of this line")


def _bench() -> CompletionAnswers:
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.editor.kept import KeptAnswers
    from stapy.kernel import find_kernel
    from stapy.options import Options

    return KeptAnswers(find_kernel(None, Diagnostics(SourceMap())), Options())


def _points(typed: str, head: str) -> Iterator[Offer]:
    """List what a probe point, or a script behind -e, could go on with."""
    from stapy.editor.complete import candidates
    from stapy.editor.cursor import CursorContext, cursor_at

    bench = _bench()
    text = head + typed
    cursor = cursor_at(text, len(text))
    closes = '")' if cursor.kind is CursorContext.ARGUMENT else ""
    rest = typed[: len(typed) - len(cursor.word)]
    found = [Offer(f"{rest}{one.text}{closes}", one.detail)
             for one in candidates(bench, text, len(text))]  # fmt: skip
    yield from found
    if len(found) == 1 and cursor.kind in (CursorContext.POINT, CursorContext.ARGUMENT):
        # A shell ends a word that is alone; it must see that this one may go on.
        only = found[0].text
        if only.endswith('("'):
            yield Offer(f"{only}*")
        else:
            behind = f"{head}{only}."
            for one in candidates(bench, behind, len(behind)):
                yield Offer(f"{only}.{one.text}", one.detail)


# --- the command ----------------------------------------------------------------------


def parser() -> ToolArgumentParser:
    """Describe the command line."""
    from stapy.tools.arguments import ToolArgumentParser

    it = ToolArgumentParser("complete", "Print what has a shell complete the words of stapy.", _END)
    it.add_argument("shell", nargs="?", choices=tuple(SHELLS), help="bash, zsh or fish")
    return it


def main(words: list[str]) -> int:
    """Obey a command line; return the exit status."""
    end = words.index("--") if "--" in words else len(words)
    if words[:1] == ["--for"] and end == 2 and words[1] in SHELLS:  # each key that is pressed
        writing.write(answer(words[1], " ".join(words[end + 1 :])))
        return 0
    options = parser()
    given = options.take(words[:end])
    if given.shell is None:
        options.error("which shell: bash, zsh or fish?")
    writing.write(SHELLS[given.shell])
    return 0


def answer(shell: str, text: str) -> str:
    """Write the offers for a line as a shell wants them, one in a line."""
    line = line_of(text)
    found = offers(line)
    if shell == "fish":
        return "".join(f"{one.text}\t{one.about}\n" for one in found)
    cut = 0
    if shell == "bash" and not line.quote:
        match = _BREAKS.match(line.typed)
        cut = match.end() if match else 0
    return "".join(f"{one.text[cut:]}\n" for one in found)

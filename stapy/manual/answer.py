"""What ``--doc NAME`` prints: a page, a list for a pattern, or the nearest names."""

from __future__ import annotations

import fnmatch
import re
import textwrap
from typing import TYPE_CHECKING

from stapy.diagnostics.habits import variable_hint
from stapy.diagnostics.suggest import nearest
from stapy.manual import families, language, text
from stapy.manual.library import open_reference
from stapy.options import foreign
from stapy.options.option import UsageError
from stapy.options.table import TABLE
from stapy.parse.tokens import AT_WORDS, KEYWORDS, MARKS, OPERATORS, PRINTERS
from stapy.paths import data_dir
from stapy.terminal import writing

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics
    from stapy.manual.entries import DocEntry
    from stapy.manual.library import Reference
    from stapy.options import Options
    from stapy.options.option import Option

_PATTERN = re.compile(r"[*?\[]")
_MARKED = re.compile(r"(.*(?:\S\s+|\))(?=[?!]$)|.*\w(?=!$))([?!])")  # 'vfs_rea?' is a pattern
_WIDTH = 100
_SIGNS = {*OPERATORS, *MARKS} - {"*"}  # which lists all names


def answered(options: Options, diagnostics: Diagnostics) -> bool:
    """Print what is asked for; False for an unknown name, which is reported.

    Of a probe point the page of its family is printed; what -L says of the place is to follow,
    and `options` ask for it then.
    """
    reference = open_reference(options)
    wanted = (options.doc or "").strip().removeprefix("probe ").removeprefix("function ")
    if wanted not in _SIGNS and (option := _option(wanted)):
        writing.write(f"{option.names()}\n  {_about(option)}\n\nstapy --help lists all options.\n")
        return True
    if marked := _MARKED.fullmatch(wanted):
        # Behind a point '?' and '!' say whether it must be there.
        point = marked[1].strip()
        wanted = marked[2] if point == "POINT" else point
    bare = re.sub(r'"[^"]*"|\([^)]*\)', "", wanted)
    if _PATTERN.search(bare) and wanted not in _SIGNS:
        return _listed(reference, wanted, diagnostics)
    found = reference.find(bare) or _behind_alias(reference, bare)
    if found:
        writing.write("\n".join(text.page(entry) for entry in found))
        return True
    page = families.page_of(wanted)
    if page is not None and families.all_known(page, bare):
        writing.write(plain(page.text))
        if '"' in wanted:
            options.listing, options.listing_variables = wanted, True
            writing.write("\nHere, with the types of its variables:\n\n")
        return True
    if any(name.startswith(bare + ".") for name in reference.names()):
        return _listed(reference, bare + ".*", diagnostics)
    sections = language.sections_of(bare)
    if sections:
        writing.write("\n".join(plain(one.page()) for one in sections))
        return True
    _unknown(reference, wanted, bare, diagnostics)
    return False


def _option(word: str) -> Option | None:
    """Find the option of the command line that a word with its dashes names."""
    name = word.partition("=")[0]
    for option in (*TABLE, *foreign.TABLE):
        if name in (f"-{option.short}", f"--{option.long}") and name.strip("-"):
            return option
    return None


def _about(option: Option) -> str:
    """Say what an option is for, or why stapy has it in name only."""
    from stapy.options import Options

    scratch = Options()
    try:
        if not option.help:
            option.set(scratch, "")
    except UsageError as error:
        return str(error)
    return option.help or "; ".join(scratch.notices)


def _behind_alias(reference: Reference, bare: str) -> list[DocEntry]:
    """Find the alias whose points are meant with more words: ``vfs.read.return.maxactive``."""
    name, dot, last = bare.rpartition(".")
    if not dot or last not in families.words_of("kprobe"):
        return []
    return reference.find(name) or _behind_alias(reference, name)


def plain(page: str) -> str:
    """Turn the Markdown of a page into text: tables become lists, marks go, lines fit."""
    lines: list[str] = []
    paragraph: list[str] = []
    rows = page.split("\n")
    for line, after in zip(rows, [*rows[1:], ""], strict=True):
        is_apart = not line or line.startswith(("|", "    ", "#", "- "))
        if paragraph and is_apart:
            lines += _fitted(_marks(" ".join(paragraph)), "")
            paragraph = []
        if line.startswith("|--") or after.startswith("|--"):
            continue  # of a list, heads say nothing
        if line.startswith("| "):
            # In cells a stroke has a backslash, within code as well.
            left, _, right = (one.replace(r"\|", "|") for one in line.strip("| ").partition(" | "))
            lines += [f"  {_marks(left)}", *_fitted(_marks(right), "      ")]
        elif line.startswith("    "):
            lines.append(line)
        elif line.startswith("#") or not line:
            lines.append(_marks(line.lstrip("# ")))
        else:
            paragraph.append(line.strip())
    return "\n".join([*lines, *_fitted(_marks(" ".join(paragraph)), "")])


def _fitted(words: str, indent: str) -> list[str]:
    """Break a line where it is too long; a list's further lines stand below its first."""
    hanging = indent + ("  " if words.startswith("- ") else "")
    return textwrap.wrap(
        words, _WIDTH, initial_indent=indent, subsequent_indent=hanging, break_long_words=False,
        break_on_hyphens=False,
    ) or [""]  # fmt: skip


def _marks(words: str) -> str:
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words)
    # A backslash before a mark of Markdown is none of the text, unless it stands in code.
    words = re.sub(r"(`[^`]*`)|\\([*_<>\[\]])", lambda one: one[1] or one[2], words)
    # What is bold is no code: two stars may stand in that.
    words = re.sub(r"(`[^`]*`)|\*\*([^*`]+)\*\*", lambda one: one[1] or one[2], words)
    return words.replace("`", "")


def _listed(reference: Reference, pattern: str, diagnostics: Diagnostics) -> bool:
    names = [name for name in reference.names() if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        diagnostics.error(
            "semantic error",
            "E0195",
            f"no function or probe alias matches '{pattern}'",
            notes=["stapy --doc '*' lists all; stapy -l lists probe points"],
        )
        return False
    wide = min(max(map(len, names)), 40)
    lines = [f"{name:{wide}}  {reference.summary(name)}".rstrip() + "\n" for name in names]
    writing.write("".join(lines))
    return True


def _meant(bare: str, names: list[str]) -> list[str]:
    """Find the names that end, or of words with ``@`` begin, with what somebody asks for.

    Who asks for a call alone means its named point, not what is spelled like it.
    """
    if f"syscall.{bare}" in names:
        return [f"syscall.{bare}"]
    ends = [name for name in names if name.endswith(f".{bare}")]
    return (ends or [name for name in names if name.startswith(f"@{bare}")])[:3]


def _unknown(reference: Reference, wanted: str, bare: str, diagnostics: Diagnostics) -> None:
    words = [*KEYWORDS, *PRINTERS, *AT_WORDS]
    names = [*words, *reference.names(), *families.points()]
    near = _meant(bare, names)
    near = near or nearest(bare, names)
    notes = ["stapy --doc 'PATTERN' lists names: stapy --doc '*stack*'"]
    if re.match("--?[a-z]", wanted):
        notes = ["stapy --help lists all options"]
    if re.fullmatch(r"[EWew]\d{4}", wanted):
        notes = [f"stapy --explain {wanted} tells of the message"]
    if wanted in {path.stem for path in data_dir("examples").glob("*/*.stp")}:
        notes = [f"stapy --example {wanted} --show prints the tool of that name"]
    if _is_of_libc(wanted):
        notes.insert(0, f'process("libc.so.6").function("{wanted}") is that of the C library')
    diagnostics.error(
        "semantic error",
        "E0195",
        f"nothing is called '{wanted}': no function, macro, probe alias, "
        "kind of probe point or word of the language",
        hint=variable_hint(bare)
        or (f"did you mean {' or '.join(repr(one) for one in near)}?" if near else ""),
        notes=notes,
    )


def _is_of_libc(name: str) -> bool:
    """Tell whether this machine's C library has a function or variable of that name."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return False
    import ctypes

    try:
        return hasattr(ctypes.CDLL("libc.so.6"), name)
    except OSError:
        return False

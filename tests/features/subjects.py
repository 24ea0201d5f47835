"""What a row is about, as expressions that a case which shows it must contain.

The words in code style of a feature are its subject.  Names that stand for others
(``N``, ``PATTERN``, ``expr``) match any text of their kind; ``…`` matches anything in a line.
"""

from __future__ import annotations

import re

# Names that stand for what a script says in their place.
_NAMES = """
    A ADDR ADDRESS B C CMD CONFIG D DEPTH DIR EXP EXPR F FILE FLAG FN FUNCTION H ID INTERVAL L LEN
    LINE LPATTERN M MB MODULE N NAME NNN NUM NUMBER P PATH PATTERN PID PROBE RELEASE SCRIPT SIZE
    SYMBOL T TIMEOUT VALUE VERSION WHEN X Y
    a addr b c cond delim e expr field hi i init k k1 k2 label lo m msg n name p scalar shift step
    size type v value var width x y
"""
_STANDS_FOR = frozenset(re.findall(r"\w+", _NAMES))
_TOKEN = re.compile(r'(?P<name>[A-Za-z_]\w*)|(?P<text>"[^"]*")|(?P<space>\s+)|(?P<other>.)', re.S)
_OPTION = re.compile(r"(?<![\w-])(--[\w-]+|-\w)")
_ANY = r"[^\n]*?"
_QUOTE = r"\\*[\"']"


def expressions(word: str) -> list[str]:
    """List the expressions that must all be found where a code word is shown."""
    if word.startswith("-") and _OPTION.match(word):
        return _of_option(word)
    pieces = word.split()
    if len(pieces) > 1 and not any(re.search(r"\w", piece) for piece in pieces):
        return [_of_text(piece) for piece in pieces if piece not in ("…", "...")]
    if len(pieces) > 1 and all(re.fullmatch(r"[%@][\w%]+", piece) for piece in pieces):
        return [_of_text(piece) for piece in pieces]
    return [_of_text(word)]


def _of_option(word: str) -> list[str]:
    """List an expression for each option of a word, and for each value that it lists."""
    found = []
    for name in _OPTION.findall(word):
        after = r"(?![\w-])" if name.startswith("--") else ""
        found.append(rf"(?<![\w-]){re.escape(name)}{after}")
    for listed in re.findall(r"=([a-z]+(?:/[a-z]+)+)", word):
        found += [rf"\b{value}\b" for value in listed.split("/")]
    return found


def _of_text(word: str) -> str:
    parts = []
    for match in _TOKEN.finditer(word):
        if match["name"]:
            parts.append(_of_name(match[0], word, match.start(), match.end()))
        elif match["text"]:
            inside = match[0][1:-1]
            names = re.findall(r"\w+", inside)
            known = names and not all(name in _STANDS_FOR for name in names)
            parts.append(_QUOTE + (re.escape(inside) if known else r"[^\"'\n]*?") + _QUOTE)
        elif match["space"]:
            parts.append(r"\s*")
        else:
            parts.append(_ANY if match[0] == "…" else re.escape(match[0]))
    text = "".join(parts)
    begins = r"(?:(?<![\w$@])|(?<=-D))" if re.match(r"\w", word) and word not in _STANDS_FOR else ""
    ends = r"(?!\w)" if re.search(r"\w$", word) else ""
    return begins + text + ends


def whole(text: str) -> re.Pattern[str]:
    """Make an expression that finds a text, but not inside of longer words; -DNAME has NAME."""
    begins = r"(?:(?<!\w)|(?<=-D))" if re.match(r"\w", text) else ""
    ends = r"(?!\w)" if re.search(r"\w$", text) else ""
    return re.compile(begins + re.escape(text) + ends)


def _of_name(name: str, word: str, start: int, end: int) -> str:
    before, after = word[start - 1 : start], word[end : end + 1]
    if name not in _STANDS_FOR or (before == "-" and word[:1] == "-"):
        return re.escape(name)
    if before == "(" or (before in ", " and "(" in word[:start]):
        return r"[^()\n]*?(?:\([^()\n]*\))?[^()\n]*?"
    return r"[\w$@]+" if before in "$@" or after in "[(=" else r"[\w$@.\->]+"


def shares(quote: str, words: list[str]) -> bool:
    """Tell whether a quotation has something in common with the words that it stands for."""
    if not words:
        return True
    fixed = [
        piece
        for word in words
        for piece in re.findall(r"\w+|[^\w\s\"',.…()]+", word)
        if piece not in _STANDS_FOR
    ]
    # A word such as `CONFIG_*` stands for all that begin so.
    return not fixed or any(
        piece in quote if piece.endswith("_") else whole(piece).search(quote) for piece in fixed
    )

"""The formatted text of a script: lines where the author broke them, blanks by rule."""

from __future__ import annotations

from stapy.diagnostics import Bug, Diagnostics
from stapy.parse.encoding import MARK, plain
from stapy.parse.format.gaps import NAME_FOLLOWS, Surroundings, gap
from stapy.parse.format.levels import Levels
from stapy.parse.format.pieces import COMMENT, FormatToken, pieces
from stapy.parse.lexer import tokenize
from stapy.parse.postlex import postlex

_TAB = 8


def formatted(text: str, source: int, diagnostics: Diagnostics, indent: str = "    ") -> str | None:
    """Format a script; None (reported) when the lexer cannot read it, `Bug` if words changed."""
    before = len(diagnostics.errors)
    found = pieces(text, source, diagnostics)
    if len(diagnostics.errors) > before:
        return None
    result = _Layout(found, indent).text()
    if _meaning(result, source, diagnostics) != _meaning(text, source, diagnostics):
        raise Bug("the formatted script has other words")
    return result


def formatted_as_written(
    text: str, source: int, diagnostics: Diagnostics, indent: str = "    "
) -> str | None:
    """Do as `formatted`, with lines that end in CR and LF, or CR, where all lines of the text do.

    A byte order mark stays, too.
    """
    end = "\n"
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        end = "\r\n"
    elif "\r" in text and "\n" not in text:
        end = "\r"
    bare = plain(text).replace(end, "\n")
    result = formatted(bare, source, diagnostics, indent)
    if result is None:
        return None
    return (MARK if text.startswith(MARK) else "") + result.replace("\n", end)


def _meaning(text: str, source: int, diagnostics: Diagnostics) -> tuple[object, ...]:
    """Collect what a formatter may not change: tokens, names made of them, words of comments."""
    tokens = tokenize(text, source, diagnostics)
    comments = [p.text.split() for p in pieces(text, source, diagnostics) if p.kind == COMMENT]
    return (
        [(token.type, token.value) for token in tokens],
        [(token.type, token.value) for token in postlex(tokens)],
        comments,
    )


class _Layout:
    """One script."""

    def __init__(self, found: list[FormatToken], indent: str) -> None:
        self.found = found
        self.indent = indent
        self.levels = Levels()
        self.out: list[str] = []
        self.waits: list[FormatToken] = []  # comments at the beginnings of lines
        self.places = _Places()

    def text(self) -> str:
        """Lay out the whole script."""
        before: FormatToken | None = None
        older = ""  # the kind of the token before that
        for at, piece in enumerate(self.found):
            new_line = before is None or piece.lines > 0 or _ends_line(before)
            if piece.kind == COMMENT and new_line:
                self.waits.append(piece)
                before = piece
                continue
            if self.waits and not new_line:
                new_line = piece.lines > 0  # a comment begins this line: what follows goes on
            self.flush(piece)
            if new_line:
                self.begin(piece, self.levels.of_line(piece))
            elif before is not None:
                self.out.append(gap(before, piece, self.places.place(), older))
                is_comment = piece.kind == COMMENT
                self.out.append(piece.text.rstrip() if is_comment else piece.text)
            if piece.kind != COMMENT:
                follows = self.after(at)
                self.levels.take(piece, new_line, follows)
                older = self.places.take(piece, follows)
            before = piece
        self.flush(None)
        return "".join(self.out).lstrip("\n") + ("\n" if self.out else "")

    def after(self, at: int) -> str:
        """Return the kind of the next token that is no comment, "" at the end."""
        return next((p.kind for p in self.found[at + 1 :] if p.kind != COMMENT), "")

    def flush(self, after: FormatToken | None) -> None:
        """Write the comments that had a line of their own, as what follows is indented."""
        waits, self.waits = self.waits, []
        for comment in waits:
            self.begin(comment, self.levels.of_comment(after))

    def begin(self, piece: FormatToken, level: int) -> None:
        """Begin a line with a piece, behind one empty line where there were some."""
        self.out.append("\n\n" if piece.lines > 1 else "\n")
        first = self.indent * level
        self.out.append(first)
        if piece.kind == COMMENT:
            self.out.append(_moved(piece, first))
        else:
            self.out.append(piece.text)


def _ends_line(piece: FormatToken) -> bool:
    return piece.kind == COMMENT and not piece.text.startswith("/*")


def _moved(comment: FormatToken, first: str) -> str:
    """Indent a comment's later lines as far to the right of its first one as they were."""
    lines = comment.text.rstrip().split("\n")
    if len(lines) == 1:
        return lines[0]
    old = _width(comment.gap.rpartition("\n")[2])
    new = _width(first)
    stars = all(line.lstrip().startswith("*") for line in lines[1:])
    result = [lines[0].rstrip()]
    for line in lines[1:]:
        bare = line.strip()
        blanks = line[: len(line) - len(line.lstrip())]
        width = new + 1 if stars else max(0, _width(blanks) - old + new)
        result.append(first + " " + bare if stars else " " * width + bare if bare else "")
    return "\n".join(result)


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(_TAB))


class _Places:
    """What part of a script a token is in, as far as blanks matter there."""

    def __init__(self) -> None:
        self.before = ""
        self.heading = False  # of a probe, up to its body
        self.parens = 0  # in the heading
        self.groups = 0  # braces in the heading
        self.head = ""  # global, types
        self.stack: list[str] = []  # open brackets: foreach, keep, or ""

    def place(self) -> Surroundings:
        """Describe the surroundings of the gap behind the last token."""
        found = {word for word in self.stack if word}
        if self.heading and not self.parens:
            found.add("heading")
        if self.head:
            found.add(self.head)
        return Surroundings(found)

    def take(self, piece: FormatToken, follows: str) -> str:
        """Move on by one token and return the kind of the one before it."""
        kind, before = piece.kind, self.before
        self.before = kind
        if self.heading:
            self._in_heading(kind, before)
        elif kind == "PROBE" and before != "ARROW":
            self.heading, self.parens, self.groups = True, 0, 0
        elif kind in ("FUNCTION", "GLOBAL"):
            self.head = "types" if kind == "FUNCTION" else "global"
        elif self._head_ends(kind, follows):
            self.head = ""
        self._brackets(kind, before)
        return before

    def _head_ends(self, kind: str, follows: str) -> bool:
        """Tell whether a token ends the head of a function, or a declaration of globals."""
        if self.head == "types":
            return kind in ("LBRACE", "EMBED")
        return self.head == "global" and (kind == "SEMI" or follows in _DECLARATIONS)

    def _in_heading(self, kind: str, before: str) -> None:
        if kind == "LPAREN":
            self.parens += 1
        elif kind == "RPAREN":
            self.parens -= 1
        elif self.parens > 0:
            return
        elif kind == "LBRACE":
            if before in NAME_FOLLOWS:
                self.groups += 1
            else:
                self.heading = False
        elif kind == "RBRACE":
            self.groups -= 1
            self.heading = self.groups >= 0
        elif kind == "SEMI":
            self.heading = False

    def _brackets(self, kind: str, before: str) -> None:
        if kind in ("LPAREN", "LBRACK", "LBRACE", "PP_IF"):
            word = ""
            if kind == "LPAREN" and before == "FOREACH":
                word = "foreach"
            elif (kind == "LPAREN" and before == "MACRO") or (kind == "PP_IF" and self._defines):
                word = "keep"
            self.stack.append(word)
        elif kind in ("RPAREN", "RBRACK", "RBRACE", "PP_END") and self.stack:
            self.stack.pop()
        if kind == "DEFINE":
            self._defines = True
        elif kind in ("PP_IF", "PP_END"):
            self._defines = False

    _defines = False


_DECLARATIONS = frozenset({"PROBE", "FUNCTION", "GLOBAL", "PRIVATE", "EMBED", "DEFINE", "PP_IF"})

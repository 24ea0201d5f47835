"""How far each line of a script is indented, told by its tokens alone.

Statements need no semicolon, so where one ends is told by what the next line begins with.
Where conditionals of the preprocessor split brackets the answer is a guess, but always the same.
"""

from __future__ import annotations

from stapy.parse.format.gaps import OPERAND
from stapy.parse.format.pieces import FormatToken
from stapy.parse.tokens import AT_WORDS
from stapy.record import Record, new

_CLOSES = {"RBRACE": "LBRACE", "RPAREN": "LPAREN", "RBRACK": "LBRACK", "PP_END": "PP_IF"}
_LOOPS = frozenset({"IF", "WHILE", "FOR", "FOREACH"})
_ENDS = OPERAND | {"BREAK", "CONTINUE", "NEXT", "RETURN", "EMBED"}
_BEGINS = frozenset(AT_WORDS.values()) | {
    "IF", "WHILE", "FOR", "FOREACH", "RETURN", "DELETE", "BREAK", "CONTINUE", "NEXT", "TRY",
    "PROBE", "GLOBAL", "FUNCTION", "PRIVATE", "IDENT", "PRINT", "PRINTD", "PRINTF", "TARGET",
    "MACRO", "ARG", "INCR", "DECR", "EMBED", "PP_IF", "NUMBER",
}  # fmt: skip


class Control(Record):
    """An ``if``, loop or ``try`` whose body is still to come or to end."""

    kind: str
    level: int
    expects_body: bool = False
    has_else: bool = False


class Bracket(Record):
    """An open bracket, or the whole file: the level of its line and of what is in it."""

    kind: str
    outer: int
    inner: int
    owner: Control | None = None
    controls: list[Control] = new(list)
    statement: int = 0  # the level of the statement that is going on
    is_fresh: bool = True  # none is
    is_function: bool = False
    is_global: bool = False


class Levels:
    """Fed with all tokens in their order."""

    def __init__(self) -> None:
        self.frames = [Bracket("", 0, 0)]
        self.last = ""
        self.defines = False  # the next conditional mark begins a macro's body
        self.line = 0  # the level of the line
        self.begins_line = True  # the last token does

    @property
    def frame(self) -> Bracket:
        """The innermost one."""
        return self.frames[-1]

    # --- the beginning of a line -------------------------------------------

    def of_line(self, piece: FormatToken) -> int:
        """Find the level of a line that begins with this token."""
        frame = self.frame
        if piece.kind in _CLOSES:
            opened = self.opened(piece.kind)
            return opened.outer if opened is not None else frame.inner
        if piece.kind in ("PP_THEN", "PP_ELSE"):
            opened = self.opened("PP_END")
            return opened.outer if opened is not None else frame.inner
        if frame.kind in ("LPAREN", "LBRACK"):
            return frame.inner
        if piece.kind in ("ELSE", "CATCH"):
            waiting = self.waiting(piece.kind)
            return waiting.level if waiting is not None else frame.inner
        top = frame.controls[-1] if frame.controls else None
        if top is not None and top.expects_body:
            return top.level if piece.kind == "LBRACE" else top.level + 1
        if self.begins(piece):
            return frame.inner
        if piece.kind == "LBRACE" or (piece.kind == "EMBED" and frame.is_function):
            return frame.statement
        return frame.statement + 1

    def begins(self, piece: FormatToken) -> bool:
        """Tell whether a statement or declaration begins with the first token of a line."""
        frame = self.frame
        if frame.is_fresh:
            return True
        if piece.kind == "EMBED" and frame.is_function:
            return False
        # The sign of an array that wraps ends its declaration; elsewhere an operand comes.
        wraps = frame.is_global and self.last == "PERCENT"
        return (wraps or self.last in _ENDS) and piece.kind in _BEGINS

    def of_comment(self, after: FormatToken | None) -> int:
        """Find the level of a line that begins with a comment, by the token behind it."""
        if after is None or after.kind in _CLOSES or after.kind in ("PP_THEN", "PP_ELSE"):
            return self.frame.inner
        return self.of_line(after)

    # --- every token -------------------------------------------------------

    def take(self, piece: FormatToken, begins_line: bool, follows: str) -> None:
        """Go on by a token; ``follows`` is the kind of the next one."""
        kind = piece.kind
        self.begins_line = begins_line
        if begins_line:
            self.line = self.of_line(piece)
            direct = self.frame.kind not in ("LPAREN", "LBRACK") and kind not in _CLOSES
            if direct and kind not in ("ELSE", "CATCH") and self.begins(piece):
                top = self.frame.controls[-1] if self.frame.controls else None
                if top is None or not top.expects_body:
                    if top is not None and not self.frame.is_fresh:
                        self.end_statement(kind)
                    self.frame.is_fresh = True
        self.defines = self.defines or kind == "DEFINE"
        if kind in ("LPAREN", "LBRACK", "LBRACE", "PP_IF"):
            self.open(kind)
        elif kind in _CLOSES:
            self.close(kind, follows)
        elif kind in ("PP_THEN", "PP_ELSE"):
            self.drop_to("PP_IF")
            self.frame.is_fresh = True
        elif self.frame.kind not in ("LPAREN", "LBRACK"):
            self.word(kind, follows)
        self.last = kind

    def word(self, kind: str, follows: str) -> None:
        """Take in a token of a statement."""
        frame = self.frame
        if kind == "ELSE" or kind == "CATCH":
            control = self.waiting(kind)
            if control is not None:
                while frame.controls[-1] is not control:
                    frame.controls.pop()
                control.has_else = True
                control.expects_body = kind == "ELSE" or follows != "LPAREN"
            frame.is_fresh = False
            return
        if kind == "SEMI":
            frame.is_fresh = True
            self.end_statement(follows)
            return
        if kind in _LOOPS or kind == "TRY":
            level = self.start()
            frame.controls.append(Control(kind, level, kind == "TRY"))
            return
        if frame.is_fresh or (frame.controls and frame.controls[-1].expects_body):
            frame.statement = self.start()
            frame.is_function = frame.is_global = False
        frame.is_function = frame.is_function or kind == "FUNCTION"
        frame.is_global = frame.is_global or kind == "GLOBAL"

    def start(self) -> int:
        """Begin a statement; return its level."""
        frame = self.frame
        top = frame.controls[-1] if frame.controls else None
        level = self.line
        if top is not None and top.expects_body:
            top.expects_body = False
            level = top.level if self.last == "ELSE" and not self.begins_line else self.line
        frame.is_fresh = False
        frame.statement = level
        return level

    def waiting(self, kind: str) -> Control | None:
        """Find the ``if`` that an ``else`` belongs to, the ``try`` of a ``catch``; else None."""
        wanted = "IF" if kind == "ELSE" else "TRY"
        for control in reversed(self.frame.controls):
            if control.kind == wanted and not control.has_else:
                return control
        return None

    # --- brackets ----------------------------------------------------------

    def open(self, kind: str) -> None:
        """Take in an opening bracket."""
        frame = self.frame
        top = frame.controls[-1] if frame.controls else None
        if kind in ("LPAREN", "LBRACK"):
            if frame.is_fresh and frame.kind not in ("LPAREN", "LBRACK"):
                self.start()
            owner = top if frame.kind in ("", "LBRACE", "PP_IF") and self.is_head(top) else None
            self.frames.append(Bracket(kind, self.line, self.line + 1, owner))
            return
        outer, owner = self.line, None
        if kind == "LBRACE" and top is not None and top.expects_body:
            outer, owner, top.expects_body = top.level, top, False
        elif kind == "LBRACE":
            outer = self.line if frame.is_fresh else frame.statement
        elif frame.is_fresh:
            self.start()
        frame.is_fresh = False
        # The sides of a conditional stand where they would without it; a macro's body does not.
        if kind == "PP_IF":
            outer = frame.statement if self.defines else outer
        inner = outer + 1 if kind == "LBRACE" or self.defines else outer
        self.defines = False
        self.frames.append(Bracket(kind, outer, inner, owner, statement=inner))

    def is_head(self, top: Control | None) -> bool:
        """Tell whether a parenthesis is the head of a control statement."""
        return top is not None and self.last in (*_LOOPS, "CATCH")

    def opened(self, kind: str) -> Bracket | None:
        """Find the frame that a closing bracket closes; none beyond the preprocessor's."""
        for frame in reversed(self.frames):
            if frame.kind == _CLOSES[kind]:
                return frame
            if frame.kind == "PP_IF":
                return None
        return None

    def drop_to(self, kind: str) -> None:
        """Forget what was opened in a side of a conditional and not closed there."""
        if any(frame.kind == kind for frame in self.frames):
            while self.frame.kind != kind:
                self.frames.pop()

    def close(self, kind: str, follows: str) -> None:
        """Take in a closing bracket."""
        frame = self.opened(kind)
        if frame is None:
            return
        while self.frame is not frame:
            self.frames.pop()
        self.frames.pop()
        if kind == "RPAREN" and frame.owner is not None:
            frame.owner.expects_body = True
        elif kind == "RBRACE" and follows not in ("DOT", "COMMA"):
            self.frame.is_fresh = True
            self.end_statement(follows)

    def end_statement(self, follows: str) -> None:
        """End a statement, and with it those whose body it was."""
        controls = self.frame.controls
        if follows in ("ELSE", "CATCH") and self.waiting(follows) is not None:
            return
        if controls and not controls[-1].expects_body:
            controls.clear()

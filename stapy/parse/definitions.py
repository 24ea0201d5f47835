"""``@define``: reading the definitions of macros."""

from __future__ import annotations

from collections.abc import Callable

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.parse.tokens import AT_WORDS, Token
from stapy.record import Record


class Macro(Record):
    """One ``@define``; ``parameters`` is None when it was written without parentheses."""

    name: str
    parameters: list[str] | None
    body: list[Token]
    span: Span
    is_library: bool = False


class Definitions:
    """The part of the preprocessor that collects macros."""

    def __init__(
        self,
        diagnostics: Diagnostics,
        find_macro: Callable[[str], Macro | None] | None,
        *,
        is_library: bool,
        macros: dict[str, Macro] | None,
    ) -> None:
        self.diagnostics = diagnostics
        self.find_macro = find_macro
        self.is_library = is_library
        self.macros: dict[str, Macro] = {} if macros is None else macros
        self._own: set[str] = set()
        # Where something is missing because of a mistake already reported: starts of the
        # tokens behind, -1 for the end of the text.
        self.damaged: set[int] = set()

    def _error(
        self,
        code: str,
        message: str,
        token: Token,
        where: str,
        hint: str = "",
        labels: list[Label] | None = None,
    ) -> None:
        self.diagnostics.error(
            "parse error", code, message, token.span, where=where, hint=hint, labels=labels
        )

    def _define(self, define: Token, tokens: list[Token], at: int) -> int:
        size = len(tokens)
        name = tokens[at] if at < size else None
        if name is None or (name.type != "IDENT" and not name.value.isidentifier()):
            self._error(
                "E0120",
                "expected identifier",
                name or define,
                "a macro's name must follow '@define'",
                hint="write '@define name %( … %)'",
            )
            return at
        at += 1
        if name.value == "define":
            self._error("E0121", "attempt to redefine '@define'", name, "this name is taken")
        parameters: list[str] | None = None
        if at < size and tokens[at].type == "LPAREN":
            parameters, at = self._parameters(tokens, at + 1)
        if at >= size or tokens[at].type != "PP_IF":
            saw = tokens[at] if at < size else name
            wanted = "'%('" if parameters is not None else "'%(' or '('"
            self._error(
                "E0122",
                f"expected {wanted}",
                saw,
                "a macro's body stands between '%(' and '%)'",
                labels=[Label(name.span, "in this definition")] if saw is not name else [],
            )
            return at
        start = at + 1
        depth = 0
        for index in range(start, size):
            kind = tokens[index].type
            if kind == "PP_IF":
                depth += 1
            elif kind == "PP_END":
                if depth == 0:
                    self._keep(Macro(name.value, parameters, tokens[start:index], name.span))
                    return index + 1
                depth -= 1
        self._error(
            "E0123",
            "incomplete macro definition - missing '%)'",
            name,
            "the body of this macro is never closed",
        )
        self.damaged.add(-1)
        return size

    def _parameters(self, tokens: list[Token], at: int) -> tuple[list[str], int]:
        names: list[str] = []
        while at < len(tokens):
            token = tokens[at]
            if token.type != "IDENT" and not token.value.isidentifier():
                self._error(
                    "E0120", "expected identifier", token, "the name of a parameter belongs here"
                )
                return names, self._after_paren(tokens, at)
            names.append(token.value)
            at += 1
            if at < len(tokens) and tokens[at].type == "COMMA":
                at += 1
                continue
            if at < len(tokens) and tokens[at].type == "RPAREN":
                return names, at + 1
            saw = tokens[at] if at < len(tokens) else token
            self._error("E0122", "expected ',' or ')'", saw, f"found {saw.describe()}")
            return names, at
        return names, at

    @staticmethod
    def _after_paren(tokens: list[Token], at: int) -> int:
        while at < len(tokens) and tokens[at].type not in ("RPAREN", "PP_IF"):
            at += 1
        return at + 1 if at < len(tokens) and tokens[at].type == "RPAREN" else at

    def _keep(self, macro: Macro) -> None:
        name = macro.name
        if name == "define":
            return
        macro.is_library = self.is_library
        if name in self._own:
            first = self.macros[name]
            self.diagnostics.error(
                "parse error",
                "E0124",
                f"attempt to redefine macro '@{name}' in the same file",
                macro.span,
                where="second definition",
                labels=[Label(first.span, f"macro '@{name}' first defined here")],
            )
            return
        if not self.is_library:
            if "@" + name in AT_WORDS:
                self.diagnostics.warning(
                    "W0650",
                    f"macro redefines built-in operator '@{name}'",
                    macro.span,
                    where="the operator cannot be used below",
                )
            elif self.find_macro is not None:
                hidden = self.find_macro(name)
                if hidden is not None:
                    self.diagnostics.warning(
                        "W0651",
                        f"macro '@{name}' overrides definition in the tapset library",
                        macro.span,
                        where="this definition is used in this script",
                        labels=[Label(hidden.span, "the library's definition")],
                    )
        self._own.add(name)
        self.macros[name] = macro

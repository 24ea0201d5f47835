"""Conditionals, macros and script arguments: from the lexer's tokens to the grammar's.

Everything works on tokens, in one walk.  The side of a conditional that is not
taken is skipped without a look at what it says; arguments of a macro keep the
scope in which they were written, so a name means the same inside as outside.
"""

from __future__ import annotations

from collections.abc import Callable

from stapy.diagnostics import Diagnostics, Label
from stapy.diagnostics.suggest import did_you_mean
from stapy.parse.conditions import BadCondition, ConditionReader
from stapy.parse.definitions import Definitions, Macro
from stapy.parse.depth import CONDITIONALS
from stapy.parse.facts import PreprocessFacts
from stapy.parse.lexer import as_bytes_text, tokenize
from stapy.parse.tokens import AT_WORDS, Token
from stapy.record import Record, new

_MAX_DEPTH = 200


class _Scope(Record):
    """What a macro's parameters stand for, and the macros being expanded."""

    values: dict[str, tuple[list[Token], _Scope]] = new(dict)
    active: tuple[str, ...] = ()
    source: int | None = None  # the source that stands for this expansion


class Preprocessor(Definitions):
    """Runs over one text; ``macros`` are those of the text itself (later texts may share them)."""

    def __init__(
        self,
        facts: PreprocessFacts,
        diagnostics: Diagnostics,
        find_macro: Callable[[str], Macro | None] | None = None,
        macro_names: Callable[[], list[str]] | None = None,
        *,
        is_library: bool = False,
        macros: dict[str, Macro] | None = None,
    ) -> None:
        super().__init__(diagnostics, find_macro, is_library=is_library, macros=macros)
        self.facts = facts
        self.sources = diagnostics.sources
        self.macro_names = macro_names
        self.used_arguments: set[int] = set()
        self._level = 0

    def run(self, tokens: list[Token]) -> list[Token]:
        """Expand a text; return the tokens that are left for the grammar."""
        out: list[Token] = []
        self._expand(tokens, _Scope(), out)
        return out

    # --- the walk ---------------------------------------------------------

    def _expand(self, tokens: list[Token], scope: _Scope, out: list[Token]) -> None:
        self._level += 1
        if self._level <= CONDITIONALS:
            self._walk(tokens, scope, out)
        elif tokens:
            where = f"this is inside {CONDITIONALS} others"
            self._error("E0147", "conditionals nested too deeply", tokens[0], where)
        self._level -= 1

    def _walk(self, tokens: list[Token], scope: _Scope, out: list[Token]) -> None:
        at, size = 0, len(tokens)
        source = scope.source
        while at < size:
            token = tokens[at]
            at += 1
            kind = token.type
            if kind == "MACRO" or (kind in _DEFINABLE and self._is_redefined(token, scope)):
                at = self._use_macro(token, tokens, at, scope, out)
            elif kind == "PP_IF":
                at = self._conditional(token, tokens, at, scope, out)
            elif kind == "ARG":
                self._argument(token, out)
            elif kind == "DEFINE":
                at = self._define(token, tokens, at)
            elif kind in ("PP_THEN", "PP_ELSE", "PP_END"):
                self._stray(token)
            else:
                if not self.is_library and kind == "IDENT" and token.value.startswith("arg"):
                    self._read_by_tapset(token.value)
                out.append(token if source is None else token.moved(source))

    def _read_by_tapset(self, name: str) -> None:
        """Note what ``argc``, ``argv`` and ``argv_1`` of the tapset read of the arguments."""
        if name in ("argc", "argv"):
            self.used_arguments.update(range(1, len(self.facts.arguments) + 1))
        elif name.startswith("argv_") and name[5:].isdecimal():
            self.used_arguments.add(int(name[5:]))

    def _is_redefined(self, token: Token, scope: _Scope) -> bool:
        """Tell whether a macro or a parameter hides a built-in operator."""
        return token.value[1:] in scope.values or token.value[1:] in self.macros

    def _stray(self, token: Token) -> None:
        self._error(
            "E0110",
            "incomplete conditional - missing '%('",
            token,
            f"this '{token.value}' belongs to no '%('",
        )

    # --- script arguments -------------------------------------------------

    def _argument(self, token: Token, out: list[Token]) -> None:
        arguments = self.facts.arguments
        quoted, word = token.value[0] == "@", token.value[1:]
        if word == "#":
            count = str(len(arguments))
            out.append(
                Token("STRING" if quoted else "NUMBER", count, token.source, token.start, token.end)
            )
            return
        if word == "*":
            self.used_arguments.update(range(1, len(arguments) + 1))
            for number, text in enumerate(arguments):
                if number:
                    out.append(Token("COMMA", ",", token.source, token.start, token.end))
                self._paste(token, text, quoted, out)
            return
        number = int(word) if word.isdigit() else 0
        if not 1 <= number <= len(arguments):
            self._error(
                "E0106",
                f"command line argument out of range [1-{len(arguments)}]",
                token,
                "no such argument" if word.isdigit() else "not the number of an argument",
                hint=self._argument_hint(token),
            )
            out.append(
                Token("STRING" if quoted else "NUMBER", "0", token.source, token.start, token.end)
            )
            return
        self.used_arguments.add(number)
        self._paste(token, arguments[number - 1], quoted, out)

    def _argument_hint(self, token: Token) -> str:
        source = self.diagnostics.sources.source(token.span)
        return self.facts.argument_hint(source.text if source is not None else "")

    def _paste(self, token: Token, text: str, quoted: bool, out: list[Token]) -> None:
        if quoted:
            value = as_bytes_text(text)
            out.append(Token("STRING", value, token.source, token.start, token.end))
            return
        source = self.sources.add(
            f"<argument {token.value}>",
            text,
            parent=token.span,
            label=f"in expansion of argument '{token.value}'",
        )
        for piece in tokenize(text, source, self.diagnostics):
            if piece.type == "ARG":
                self._error(
                    "E0107",
                    "invalid nested substitution of command line arguments",
                    token,
                    f"this argument contains '{piece.value}' itself",
                )
                return
            out.append(piece)

    # --- conditionals -----------------------------------------------------

    def _conditional(
        self, opening: Token, tokens: list[Token], at: int, scope: _Scope, out: list[Token]
    ) -> int:
        position = at
        pending: list[Token] = []

        def peek() -> Token | None:
            nonlocal position
            if not pending and position < len(tokens):
                token = tokens[position]
                position += 1
                if token.type == "ARG":
                    self._argument(token, pending)
                    return pending[0] if pending else peek()
                if token.type == "MACRO":
                    position = self._use_macro(token, tokens, position, scope, pending)
                    return pending[0] if pending else peek()
                pending.append(token)
            return pending[0] if pending else None

        def take() -> Token | None:
            token = peek()
            if token is not None:
                pending.pop(0)
            return token

        sides = self._sides(opening, tokens, at)
        try:
            taken = ConditionReader(self.facts, self.diagnostics, take, peek, opening).read()
            marker = peek()
            if marker is None or marker.type != "PP_THEN":
                saw = marker or opening
                self._error(
                    "E0114",
                    "expected '%?' marker for conditional",
                    saw,
                    f"found {saw.describe()}" if marker else "the text ends before '%?'",
                    labels=[Label(opening.span, "the conditional begins here")] if marker else [],
                )
                raise BadCondition
        except BadCondition:
            end = sides[-1] if sides else len(tokens)
            self.damaged.add(tokens[end].start if end < len(tokens) else -1)
            return end
        if sides is None:
            self.damaged.add(-1)
            self._error(
                "E0115",
                "incomplete conditional at end of file",
                opening,
                "this conditional is never closed",
                hint="add '%)'",
            )
            return len(tokens)
        then_start, then_end, else_start, end = sides
        if taken:
            self._expand(tokens[then_start:then_end], scope, out)
        elif else_start:
            self._expand(tokens[else_start : end - 1], scope, out)
        return end

    def _sides(
        self, opening: Token, tokens: list[Token], at: int
    ) -> tuple[int, int, int, int] | None:
        """Find indices: behind ``%?``, the first side's end, behind ``%:`` (0: none) and ``%)``."""
        depth, then_start, then_end, else_start = 0, 0, 0, 0
        for index in range(at, len(tokens)):
            token = tokens[index]
            kind = token.type
            if kind == "PP_IF":
                depth += 1
            elif kind == "PP_END":
                if depth == 0:
                    return then_start or index, then_end or index, else_start, index + 1
                depth -= 1
            elif depth == 0 and kind == "PP_THEN":
                if then_start:
                    self._stray(token)
                then_start = then_start or index + 1
            elif depth == 0 and kind == "PP_ELSE":
                if else_start:
                    self._error(
                        "E0116",
                        "invalid conditional - duplicate '%:'",
                        token,
                        "a second '%:'",
                        labels=[Label(opening.span, "the conditional begins here")],
                    )
                else:
                    then_end, else_start = index, index + 1
        return None

    # --- macros -----------------------------------------------------------

    def _use_macro(
        self, call: Token, tokens: list[Token], at: int, scope: _Scope, out: list[Token]
    ) -> int:
        name = call.value[1:]
        if name in scope.values:
            inner, outer = scope.values[name]
            self._expand(inner, outer, out)
            return at
        macro = self.macros.get(name) or (self.find_macro(name) if self.find_macro else None)
        if macro is None:
            return self._unknown(call, scope, tokens, at, out)
        span = call.span if scope.source is None else call.moved(scope.source).span
        given: list[list[Token]] = []
        if macro.parameters is not None:
            found = self._arguments(call, macro, tokens, at)
            if found is None:
                return len(tokens)
            given, at, fine = found
            if not fine:
                self._placeholder(call, out)
                return at
        if name in scope.active or len(scope.active) >= _MAX_DEPTH:
            self.diagnostics.error(
                "parse error",
                "E0128",
                f"macro '@{name}' expands to itself",
                span,
                where="this use never ends",
                labels=[Label(macro.span, "defined here")],
            )
            self._placeholder(call, out)
            return at
        home = self.sources.source(macro.span)
        source = self.sources.add(
            home.name if home else "",
            home.text if home else "",
            parent=span,
            label=f"in expansion of macro '@{name}'",
            is_library=macro.is_library,
        )
        values = dict(zip(macro.parameters or (), ((a, scope) for a in given), strict=True))
        self._expand(macro.body, _Scope(values, (*scope.active, name), source), out)
        return at

    def _arguments(
        self, call: Token, macro: Macro, tokens: list[Token], at: int
    ) -> tuple[list[list[Token]], int, bool] | None:
        wanted = len(macro.parameters or ())
        defined = [Label(macro.span, f"'@{macro.name}' is defined here")]
        if at >= len(tokens) or tokens[at].type != "LPAREN":
            plural = "s" if wanted != 1 else ""
            self._error(
                "E0125",
                f"expected '(' in invocation of macro '@{macro.name}' "
                f"taking {wanted} parameter{plural}",
                tokens[at] if at < len(tokens) else call,
                "the parameters belong here",
                labels=defined,
            )
            return [], at, False
        depth, start = 0, at + 1
        given: list[list[Token]] = []
        for index in range(start, len(tokens)):
            token = tokens[index]
            if token.type == "LPAREN":
                depth += 1
            elif token.type == "RPAREN" and depth:
                depth -= 1
            elif token.type in ("RPAREN", "COMMA") and depth == 0:
                # Commas inside brackets belong to the parameter: `@m([a, b] in c)`.
                if token.type == "COMMA" and _in_brackets(tokens, start, index):
                    continue
                given.append(tokens[start:index])
                start = index + 1
                if token.type == "RPAREN":
                    if len(given) == wanted:
                        return given, start, True
                    self._error(
                        "E0126",
                        f"too {'few' if len(given) < wanted else 'many'} parameters "
                        f"for macro '@{macro.name}' (expected {wanted})",
                        call,
                        f"{len(given)} given",
                        labels=defined,
                    )
                    return given, start, False
        self._error(
            "E0127",
            "could not find end of macro invocation",
            call,
            "the parameters of this macro never end",
            labels=[Label(tokens[at].span, "this '(' is not closed")],
        )
        self.damaged.add(-1)
        return None

    def _placeholder(self, call: Token, out: list[Token]) -> None:
        """Put something harmless in place of a macro that could not be expanded."""
        out.append(Token("NUMBER", "0", call.source, call.start, call.end))
        self.damaged.add(call.start)

    def _variable_hint(self, call: Token, tokens: list[Token], at: int) -> str:
        """Explain an ``@name`` that is used like a variable of bpftrace or DTrace; else ""."""
        if at < len(tokens) and tokens[at].type != "LPAREN":
            name = call.value[1:]
            return f"variables have no '@': declare 'global {name}' and write '{name}'"
        return ""

    def _unknown(
        self, call: Token, scope: _Scope, tokens: list[Token], at: int, out: list[Token]
    ) -> int:
        names = [*self.macros, *(word[1:] for word in AT_WORDS)]
        names += self.macro_names() if self.macro_names else []
        names += scope.values
        self._error(
            "E0129",
            f"unknown operator {call.value}",
            call,
            "neither an operator nor a macro",
            hint=did_you_mean(call.value, ["@" + name for name in names])
            or self._variable_hint(call, tokens, at),
        )
        self._placeholder(call, out)
        if at < len(tokens) and tokens[at].type == "LPAREN":
            depth = 0
            for index in range(at, len(tokens)):
                if tokens[index].type == "LPAREN":
                    depth += 1
                elif tokens[index].type == "RPAREN":
                    depth -= 1
                    if depth == 0:
                        return index + 1
        return at


_DEFINABLE = frozenset(AT_WORDS.values()) - {"DEFINE"}


def _in_brackets(tokens: list[Token], start: int, end: int) -> bool:
    depth = 0
    for token in tokens[start:end]:
        if token.type == "LBRACK":
            depth += 1
        elif token.type == "RBRACK":
            depth -= 1
    return depth > 0

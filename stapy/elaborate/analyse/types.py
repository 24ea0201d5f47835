"""Type inference over the whole program: rules say which types must be equal, the rest follows.

`rules.py` has what each construct requires, `constraints.py` joins types and reports conflicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics
from stapy.diagnostics.habits import argument_hint, variable_hint
from stapy.elaborate.analyse.constraints import Constraints
from stapy.elaborate.analyse.rules import RULES, loop_value
from stapy.elaborate.lower.printing import wants
from stapy.elaborate.typevars import TypeTable, is_open
from stapy.ir import program as p
from stapy.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stapy.elaborate.analyse.entryvars import NamesOfProbe


class Inference(Constraints):
    """Collects equalities, then writes the types into the program."""

    def __init__(self, types: TypeTable, diagnostics: Diagnostics) -> None:
        super().__init__(types, diagnostics)
        self._unresolved: set[p.Type] = set()
        # Tells, as a hint, what gives the value that a name was meant for.
        self.value_hint: Callable[[str], str] = variable_hint

    # --- a body ---------------------------------------------------------------

    def body(self, node: p.Node | None, function: p.Function | None = None) -> None:
        """Apply the rules to a tree."""
        self.function = function
        for item in walk(node):
            rule = RULES.get(type(item))
            if rule is not None:
                rule(self, item)

    def finish(self) -> None:
        """Check the loops by the rules that need to know which globals are statistics."""
        for node in self.loops:
            loop_value(self, node)

    # --- results ----------------------------------------------------------------

    def settle(self, node: p.Node) -> None:
        """Write the types into a tree and give plain prints their directive.

        What nothing settles is a number, as variables are; a call without a value is void.
        """
        every = walk(node)
        for item in every:
            if isinstance(item, p.Expr):
                otherwise = p.VOID if isinstance(item, p.CallOp) else p.LONG
                item.type = self.types.settled(item.type, otherwise)
        for item in every:
            if isinstance(item, (p.PrintOp, p.PrettyPrint)):
                _settle_pieces(item)

    def settle_variables(self, variables: Iterable[p.Variable]) -> None:
        """Write the types of local variables."""
        for variable in variables:
            variable.type = self.types.settled(variable.type, p.LONG)

    def unresolved(
        self,
        node: p.Node,
        library: set[str],
        names: NamesOfProbe | None = None,
    ) -> None:
        """Report values whose type nothing settles.

        ``library`` are the library's globals: a script may call only the
        function that deletes one.  ``names`` may have been meant by a wrong one.
        """
        dropped: set[int] = set()
        words = _WordsOfOthers(node, self.types, self.value_hint)
        for item in walk(node):
            if isinstance(item, p.Evaluate):
                dropped.add(id(item.expr))
            elif isinstance(item, p.Delete):
                target = item.target
                if isinstance(target, (p.GlobalRef, p.ElementRef)) and target.var.c_name in library:
                    dropped.add(id(target))
            if isinstance(item, (p.LocalRef, p.GlobalRef, p.ElementRef, p.CallOp)):
                kind = self.types.find(item.type)
                if is_open(kind) and kind not in self._unresolved and id(item) not in dropped:
                    self._unresolved.add(kind)
                    self._report_unresolved(item, names, words)

    def _report_unresolved(
        self,
        item: p.LocalRef | p.GlobalRef | p.ElementRef | p.CallOp,
        names: NamesOfProbe | None,
        words: _WordsOfOthers,
    ) -> None:
        if isinstance(item, p.CallOp):
            self.report_no_value(item)
            return
        name = item.name if isinstance(item, p.LocalRef) else item.var.name
        kept = names.at_entry(name) if names is not None and isinstance(item, p.LocalRef) else None
        if kept is not None:
            text = f"unresolved type: identifier '{name}'"
            self.diagnostics.error(
                "semantic error", "E0305", text, item.span, where=kept.where, hint=kept.hint
            )
            return
        self.diagnostics.error(
            "semantic error",
            "E0305",
            f"unresolved type: identifier '{name}'",
            item.span,
            where="nothing says whether this is a number or a string",
            hint=argument_hint(self.diagnostics.sources.source(item.span))
            or (names.target(name) if names is not None else "")
            or self.value_hint(name)
            or words.hint(item.type)
            or (names.similar(name, words.near(names)) if names is not None else "")
            or (names.told() if names is not None else "")
            or f"give '{name}' a value here, or add 'global {name}' when another probe does",
        )


class _WordsOfOthers:
    """Words in a body that mean something else, and that the type of a value would come from."""

    def __init__(self, body: p.Node, types: TypeTable, value_hint: Callable[[str], str]) -> None:
        self._body = body
        self._types = types
        self._value_hint = value_hint
        self._hints: dict[p.Type, str] | None = None
        self._near: set[str] | None = None

    def near(self, names: NamesOfProbe) -> set[str]:
        """Collect the variables whose type is known, of which a name without a value may be one."""
        if self._near is None:
            is_known = [not is_open(self._types.find(var.type)) for var in names.near]
            self._near = {var.name for var, known in zip(names.near, is_known) if known}
        return self._near

    def hint(self, kind: p.Type) -> str:
        """Explain such a word, as ``true`` in ``x = true``; "" where there is none."""
        if self._hints is None:
            self._hints = {}
            for one in walk(self._body):
                hint = self._value_hint(one.name) if isinstance(one, p.LocalRef) else ""
                if hint and isinstance(one, p.LocalRef):
                    self._hints.setdefault(self._types.find(one.type), f"'{one.name}': {hint}")
        return self._hints.get(self._types.find(kind), "")


def _settle_pieces(item: p.PrintOp | p.PrettyPrint) -> None:
    at = 0
    for piece in item.pieces:
        for kind in wants(piece):
            if kind is None:
                piece.kind = "s" if item.args[at].type == p.STRING else "d"
            at += 1

"""What passes 1 to 3 say of a script that is not whole yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Stop
from stapy.editor.cursor import CursorContext, cursor_at
from stapy.elaborate.names import syntax
from stapy.parse import nodes as n
from stapy.record import replace
from stapy.session import inputs
from stapy.session.check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from stapy.diagnostics import Span
    from stapy.kernel import Kernel
    from stapy.options import Options

NAME = "<input>"  # as a session calls the script, so that messages of both are alike
# Comments, embedded C, conditions and macros whose end is still to come.
_UNCLOSED = {"E0102", "E0103", "E0115", "E0123"}
_UNEXPECTED, _EMPTY, _NO_PROBES = "E0105", "E0100", "E0238"


class ShellCheck(Check):
    """A check of a script to which more will be added: what nobody uses yet is no mistake."""

    trusts_trees = True  # what is checked is to be run next
    arguments_way = "'add args WORD...' gives arguments"

    def __init__(self, options: Options, text: str, name: str = NAME) -> None:
        # What limits and tells of a session is left to the session.
        options = replace(options, rlimits={}, notices=[], last_pass=5)
        super().__init__(options, name, text)
        self.text = text
        self.scripts: list[n.Script] = []  # what pass 1 made of it

    def kernel(self) -> Kernel | None:
        """Find the kernel; None, with the reason among the messages, when there is none."""
        try:
            return inputs.find_kernel(self)
        except Stop:
            self.show()
            return None

    def parse(self, kernel: Kernel) -> list[n.Script]:
        """Go through pass 1, and keep what it made."""
        self.scripts = super().parse(kernel)
        return self.scripts

    def global_names(self) -> set[str]:
        """Name the globals that the text declares; none when it has a mistake."""
        kernel = self.kernel()
        if kernel is not None:
            self._parse(kernel)
        return {one.name for one in self._declarations() if isinstance(one, n.GlobalDecl)}

    def errors(self, lost: Set[str] = frozenset()) -> list[str]:
        """Go through the passes; list the errors as they are shown.

        ``lost`` are names of globals that the text is about to lose: to name one is a mistake,
        though the passes take it for a local.
        What other hosts have is not known here: only pass 1 is asked of a script for these.
        """
        kernel = self.kernel()
        if kernel is not None and self.options.remotes:
            self._parse(kernel)
        elif kernel is not None:
            self.translate_for(kernel)
        if self._is_blank():
            return []
        if lost and not self._mistakes():
            self._refuse_lost(lost)
        return self._mistakes()

    def _mistakes(self) -> list[str]:
        return [one.text for one in self.messages
                if one.is_error and one.data.get("code") != _NO_PROBES]  # fmt: skip

    def _refuse_lost(self, lost: Set[str]) -> None:
        """Report the first use of each global that is lost."""
        told: set[str] = set()
        for name, span in self._uses():
            if name in lost - told:
                told.add(name)
                self.diagnostics.error(
                    "semantic error",
                    "E0202",
                    f"unresolved global {name}, missing global declaration?",
                    span,
                    hint=f"without 'global {name}' this would be a local variable",
                )
        self.show()

    def _uses(self) -> Iterator[tuple[str, Span]]:
        """List the variables of the text with their places, but for functions' parameters."""
        for decl in self._declarations():
            params = decl.params if isinstance(decl, n.FunctionDecl) else []
            own = {param.name for param in params}
            for node in syntax.walk(decl):
                for name in _variables(node):
                    if name not in own:
                        yield name, node.span

    def _declarations(self) -> list[n.Decl]:
        return [decl for script in self.scripts if not script.is_library for decl in script.decls]

    def is_open(self) -> bool:
        """Tell whether the text ends where more of it must follow."""
        kernel = self.kernel()
        if kernel is None:
            return False
        self._parse(kernel)
        errors = self.diagnostics.errors
        if not errors or self._is_blank():
            return False
        first = errors[0]
        at_end = first.code == _UNEXPECTED and first.span.start >= len(self.text.rstrip())
        return first.span.source >= 0 and (first.code in _UNCLOSED or at_end)

    def _parse(self, kernel: Kernel) -> None:
        try:
            self.parse(kernel)
        except Stop:
            self.show()

    def _is_blank(self) -> bool:
        """Tell whether there are comments only: what they are about may follow."""
        errors = self.diagnostics.errors
        return bool(errors) and all(one.code == _EMPTY for one in errors)


def _variables(node: n.Node) -> list[str]:
    """Name the variables that a part of the tree itself names."""
    if isinstance(node, n.Name | n.ForeachKey):
        return [node.name]
    return [node.variable] if isinstance(node, n.TryStmt) and node.variable else []


def is_between(text: str) -> bool:
    """Tell whether the end of a text lies in no body: nobody leaves a line empty there."""
    return cursor_at(text, len(text)).kind in (CursorContext.TOP, CursorContext.POINT)

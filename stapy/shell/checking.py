"""What passes 1 to 3 say of a script that is not whole yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Stop
from stapy.editor.cursor import CursorContext, cursor_at
from stapy.record import replace
from stapy.session import inputs
from stapy.session.check import Check

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options

NAME = "<input>"  # as a session calls the script, so that messages of both are alike
# Comments, embedded C, conditions and macros whose end is still to come.
_UNCLOSED = {"E0102", "E0103", "E0115", "E0123"}
_UNEXPECTED, _EMPTY, _NO_PROBES = "E0105", "E0100", "E0238"


class ShellCheck(Check):
    """A check of a script to which more will be added: what nobody uses yet is no mistake."""

    trusts_trees = True  # what is checked is to be run next

    def __init__(self, options: Options, text: str) -> None:
        # What limits and tells of a session is left to the session.
        options = replace(options, rlimits={}, notices=[], last_pass=5)
        super().__init__(options, NAME, text)
        self.text = text

    def kernel(self) -> Kernel | None:
        """Find the kernel; None, with the reason among the messages, when there is none."""
        try:
            return inputs.find_kernel(self)
        except Stop:
            self.show()
            return None

    def errors(self) -> list[str]:
        """Go through the passes; list the errors as they are shown.

        What other hosts have is not known here: only pass 1 is asked of a script for these.
        """
        kernel = self.kernel()
        if kernel is not None and self.options.remotes:
            self._parse(kernel)
        elif kernel is not None:
            self.translate_for(kernel)
        if self._is_blank():
            return []
        return [one.text for one in self.messages
                if one.is_error and one.data.get("code") != _NO_PROBES]  # fmt: skip

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


def is_between(text: str) -> bool:
    """Tell whether the end of a text lies in no body: nobody leaves a line empty there."""
    return cursor_at(text, len(text)).kind in (CursorContext.TOP, CursorContext.POINT)

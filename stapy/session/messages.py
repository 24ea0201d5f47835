"""What a command says while its passes run: messages, notes of -v, why it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from stapy.debuginfo import view
from stapy.diagnostics import Diagnostic, Diagnostics, SourceMap, Stop
from stapy.record import replace
from stapy.terminal import progress, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.diagnostics.layouts import Form
    from stapy.options import Options

# What SystemTap prints when a pass fails, by number.
_FAILED = {1: "parse", 2: "analysis", 3: "translation", 4: "compilation", 5: "run"}


class PassMessages:
    """The options of a command, what its passes have reported, and how it is shown."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sources = SourceMap()
        self.diagnostics = Diagnostics(self.sources)
        self.shown = 0
        self.said: list[str] = []
        self.form: Form | None = None
        self.told: set[str] = set()  # codes of errors, in SystemTap's layout
        self.similar = 0
        self.at_pass = 0

    def refuse(self, code: str, message: str, *, kind: str = "error", hint: str = "") -> NoReturn:
        """Report an error that has no place in a script, and stop."""
        self.diagnostics.error(kind, code, message, hint=hint)
        raise Stop

    def end_pass(self) -> None:
        """Show what the pass said; stop when it failed."""
        self.show()
        if self.diagnostics.errors:
            raise Stop
        if self.options.warnings_are_errors and self.said:
            if self.options.message_format != "systemtap":
                self.note("-W makes warnings errors")
            raise Stop

    def show(self) -> None:
        """Draw the diagnostics that were not shown yet."""
        fresh = self.diagnostics.items[self.shown :]
        self.shown = len(self.diagnostics.items)
        if not fresh:
            return
        progress.clear()
        for item in self.told_once(fresh):
            if item is None:
                continue
            if item.severity == item.WARNING and self.options.suppress_warnings:
                continue
            if self._similar(item):
                continue
            text = self.drawn(item)
            text += "" if text.endswith("\n") else "\n"
            if item.severity == item.WARNING:
                self.said.append(text)
            writing.tell(text)

    def told_once(self, items: list[Diagnostic]) -> Sequence[Diagnostic | None]:
        """Put the uses of one wrong name into its first message, in the form for eyes; None else.

        SystemTap's layout counts what is similar, and programs read each place.
        """
        if len(items) < 2 or self.options.message_format not in (None, "", "rich"):
            return items
        from stapy.diagnostics.repeated import folded

        return folded(items, self.sources)

    def _similar(self, item: Diagnostic) -> bool:
        """Tell whether a message is only counted: SystemTap shows one of a kind without -v."""
        if self.options.message_format != "systemtap" or max(self.options.verbose) > 0:
            return False
        if item.severity != item.ERROR or item.kind != "semantic error":
            return False
        known = item.code in self.told
        self.told.add(item.code)
        self.similar += known
        return known

    def drawn(self, item: Diagnostic) -> str:
        """Draw a message in the form that was asked for."""
        from stapy.diagnostics.layouts import form_of
        from stapy.diagnostics.render import use_color
        from stapy.parse.tokens import KEYWORDS

        if self.form is None:
            name = self.options.message_format or "rich"
            self.form = form_of(name, self.sources, max(self.options.verbose) > 0, KEYWORDS)
        return self.form(_as_named(item), self.at_pass, use_color(self.options.color))

    def warn_here(
        self, code: str, message: str, *, notes: list[str] | None = None, hint: str = ""
    ) -> None:
        """Warn about this machine and user; the warning is not kept with what was made."""
        if self.options.suppress_warnings:
            return
        item = Diagnostics(self.sources).warning(code, message, notes=notes or [], hint=hint)
        self.say(self.drawn(item))

    def write(self, text: str) -> None:
        """Write text on standard output."""
        progress.clear()
        writing.write(text)

    def say(self, text: str) -> None:
        """Write text on standard error, such as warnings recalled from the cache."""
        progress.clear()
        writing.tell(text)

    def failed(self) -> int:
        """End a pass that found errors; return the exit status."""
        self.show()
        mistakes = [item for item in self.diagnostics.errors if item.span.source >= 0]
        if mistakes and self.at_pass == 1 and self.options.message_format == "systemtap":
            self.note(f"{len(mistakes)} parse error{'s' if len(mistakes) != 1 else ''}.")
        if self.at_pass:
            self.tell_failed()
        return 1

    def tell_failed(self) -> None:
        """Say which pass failed, in SystemTap's words."""
        text = f"Pass {self.at_pass}: {_FAILED[self.at_pass]} failed."
        if self.options.message_format != "json":
            text += f"  [man error::pass{self.at_pass}]"
        self.note(text, "error")
        if self.similar:
            self.note(f"Number of similar error messages suppressed: {self.similar}.")
            self.note("Rerun with -v to see them.")
            self.similar = 0

    def verbose(self, text: str) -> None:
        """Write one line per pass under -v."""
        if self.options.verbose[self.at_pass - 1]:
            self.note(f"Pass {self.at_pass}: {text}")

    def note(self, text: str, severity: str = "note") -> None:
        """Write a line on standard error."""
        progress.clear()
        if self.options.message_format == "json":
            from stapy.diagnostics.layouts import json_line

            fields = {"severity": severity, "kind": severity, "pass": self.at_pass, "message": text}
            text = json_line(fields)
        else:
            from stapy.diagnostics.render import harmless

            text = harmless(text)
        writing.tell(text + "\n")


def _as_named(item: Diagnostic) -> Diagnostic:
    """Rename paths of --target-namespaces in a message as that process, and the script, do."""
    if view.is_ours():
        return item
    plain = replace(
        item,
        message=view.without_root(item.message),
        where=view.without_root(item.where),
        notes=[view.without_root(note) for note in item.notes],
        hint=view.without_root(item.hint),
    )
    return plain

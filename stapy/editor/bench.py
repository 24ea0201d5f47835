"""A kernel and the library, opened once, and what is asked of them while a script is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import Diagnostics, Stop
from stapy.parse import nodes as n
from stapy.parse import parse_script
from stapy.record import Record, new
from stapy.session.check import Check

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options

_MOST = 500  # texts that are read before all is opened anew: each is kept
_SOME = 4  # places of a wildcard that are looked at for what may be read there
_POINT = "probe %s { }"


class HandlerScope(Record):
    """What a handler of a point may read besides globals, with types as C or the language has them.

    ``targets`` are variables of what is probed, ``locals`` those that an alias sets.
    """

    targets: dict[str, ctypes.CType | None] = new(dict)
    locals: dict[str, str] = new(dict)


class Bench:
    """One kernel and the library for one set of options."""

    def __init__(self, kernel: Kernel, options: Options) -> None:
        self.kernel = kernel
        self.options = options
        self._scopes: dict[str, HandlerScope] = {}
        self._open()

    def _open(self) -> None:
        self._check = Check(self.options, "<editor>", "probe begin { }")
        self._check.parse(self.kernel)
        self.services = self._check.services(self.kernel)
        self.library = self._check.library
        self.sources = self._check.sources
        self._texts = 0

    # --- scripts ------------------------------------------------------------

    def parsed(self, text: str, name: str = "<editor>") -> n.Script | None:
        """Parse a text; None when it has mistakes."""
        self._texts += 1
        if self._texts > _MOST:
            self._open()
        quiet = Diagnostics(self.sources)
        return parse_script(name, text, self._check.facts, self.library, self.sources, quiet)

    def checked(self, name: str, text: str) -> Check:
        """Take a text through passes 1 to 3; the messages are in what is returned."""
        check = Check(self.options, name, text)
        check.translate_for(self.kernel)
        return check

    # --- points -------------------------------------------------------------

    def points(self, point: str) -> list[str]:
        """List what -l lists for a point; nothing for one that makes no sense."""
        from stapy.elaborate.listing import list_points

        script = self.parsed(_POINT % point)
        if script is None:
            return []
        try:
            with self.services.diagnostics.quiet():
                return list_points([script], self.services, False)
        except Stop:
            return []

    def points_of(self, text: str) -> list[str]:
        """List the points of a script's probes, as they are written; none when it has mistakes."""
        script = self.parsed(text)
        decls = script.decls if script is not None else []
        spans = [x.span for decl in decls if isinstance(decl, n.ProbeDecl) for x in decl.points]
        return [self.sources.text(span) for span in spans]

    def has_aliases(self, text: str) -> bool:
        """Tell whether a script declares aliases, or cannot be told to declare none."""
        script = self.parsed(text)
        return script is None or any(isinstance(decl, n.AliasDecl) for decl in script.decls)

    def scope(self, point: str) -> HandlerScope:
        """Find what the handler of a point may read."""
        known = self._scopes.get(point)
        if known is None:
            known = self._scopes[point] = self._scope(point)
        return known

    def _scope(self, point: str) -> HandlerScope:
        from stapy.elaborate.listing import described_points

        if "*" in point:  # what some have is near enough to what all of them have
            point = ", ".join(self.points(point)[:_SOME])
        script = self.parsed(_POINT % point) if point else None
        found = HandlerScope()
        if script is None:
            return found
        try:
            with self.services.diagnostics.quiet():
                rows = described_points([script], self.services)
        except Stop:
            return found
        for row in rows:
            found.locals.update(row.locals)
            for name, variable in row.targets.items():
                found.targets[name] = None if variable.is_text else variable.type
        return found

    def members(self, point: str, chain: str) -> dict[str, ctypes.CType]:
        """List the members of what ``$file->f_path->`` leads to, with their types."""
        names = re.findall(r"\$?\w+(?=\s*(?:->|\[))", re.sub(r"\[[^\]]*\]", "[", chain), re.ASCII)
        type = self.scope(point).targets.get(names[0]) if names else None
        for name in names[1:]:
            found = ctypes.find_member(self._below(type), name) if type is not None else None
            type = found[0].type if found is not None else None
        if type is None:
            return {}
        whole = self._below(type)
        members = {name: ctypes.find_member(whole, name) for name in ctypes.member_names(whole)}
        return {name: member[0].type for name, member in members.items() if member is not None}

    def _below(self, type: ctypes.CType) -> ctypes.CType:
        """Follow pointers and arrays to the struct that ``->`` reads, as it is defined."""
        type = ctypes.strip(type)
        while isinstance(type, (ctypes.Pointer, ctypes.Array)):
            target = type.target if isinstance(type, ctypes.Pointer) else type.element
            type = ctypes.strip(target)
        return self.services.debuginfo.complete(type)

    # --- the library --------------------------------------------------------

    def function(self, name: str) -> n.FunctionDecl | None:
        """Find a function of the library."""
        for path in self.library.files_with_function(name):
            script = self.library.load(path)
            for decl in script.decls if script is not None else ():
                if isinstance(decl, n.FunctionDecl) and decl.name == name:
                    return decl
        return None

    def alias(self, name: str) -> n.AliasDecl | None:
        """Find an alias of the library by its name with dots."""
        parts = tuple(name.split("."))
        for names, path in self.library.alias_names():
            if names != parts:
                continue
            script = self.library.load(path)
            for decl in script.decls if script is not None else ():
                if isinstance(decl, n.AliasDecl) and tuple(c.name for c in decl.name) == parts:
                    return decl
        return None

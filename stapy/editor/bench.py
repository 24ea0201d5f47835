"""A kernel and the library, opened once, and what is asked of them while a script is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import Diagnostics, Stop
from stapy.editor.words import OfferedNames, names_of
from stapy.elaborate.names.syntax import walk
from stapy.manual.library import Reference
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


_WITH_CHAIN = (n.Target, n.Cast, n.AtVar, n.AutoCast)


def _modules(text: str) -> list[str]:
    """List the modules and programs that the last argument of an operator names."""
    return [part for part in text.split(":") if part] or ["kernel"]


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
        self.reference = Reference(self.library)
        self._names: OfferedNames | None = None
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

    # --- names, as text -----------------------------------------------------

    @property
    def names(self) -> OfferedNames:
        """The names that need no kernel."""
        if self._names is None:
            self._names = names_of(self.library)
        return self._names

    def modules(self, word: str) -> list[str]:
        """List the modules that begin with a word."""
        return self.services.debuginfo.module_names(f"{word}*")

    def targets(self, point: str) -> list[tuple[str, str]]:
        """List the variables of a point, with their types."""
        found = self.scope(point).targets
        return [(name, ctypes.c_name(one) if one is not None else "string")
                for name, one in found.items()]  # fmt: skip

    def fields(self, point: str, chain: str) -> list[tuple[str, str]]:
        """List the members of what a chain leads to, with their types."""
        found = self.members(point, chain)
        return [(name, ctypes.c_name(one)) for name, one in found.items()]

    def locals_of(self, point: str) -> list[tuple[str, str]]:
        """List what the alias of a point sets, with types."""
        return list(self.scope(point).locals.items())

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
        from stapy.elaborate.described import described_points

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
        """List members of what ``$file->f_path->`` or ``@cast(…)->`` leads to, with types."""
        script = self.parsed(f"probe end {{ println({chain.rstrip().removesuffix('->')}) }}")
        decls = script.decls if script is not None else []
        every = (one for decl in decls for one in walk(decl))
        found = next((one for one in every if isinstance(one, _WITH_CHAIN)), None)
        type = self._type_of(found, point) if found is not None else None
        if type is None:
            return {}
        whole = self._below(type)
        members = {name: ctypes.find_member(whole, name) for name in ctypes.member_names(whole)}
        return {name: member[0].type for name, member in members.items() if member is not None}

    def _type_of(self, node: n.Expr, point: str) -> ctypes.CType | None:
        """Find the type of a variable, a cast, or what a chain behind one leads to."""
        if isinstance(node, n.AutoCast) and isinstance(node.value, n.Entry):
            type = self._type_of(node.value.operand, point.removesuffix(".return"))
        elif isinstance(node, n.Entry):
            return self._type_of(node.operand, point.removesuffix(".return"))
        elif isinstance(node, n.Target):
            type = self.scope(point).targets.get(node.name)
        elif isinstance(node, n.Cast):
            type = self.services.debuginfo.type(node.type.strip("* "), _modules(node.module))
        elif isinstance(node, n.AtVar):
            type = self._variable(node.name, _modules(node.module))
        else:
            return None
        for step in node.chain:
            if isinstance(step, n.MemberAccess) and type is not None:
                found = ctypes.find_member(self._below(type), step.name)
                type = found[0].type if found is not None else None
        return type

    def _variable(self, name: str, modules: list[str]) -> ctypes.CType | None:
        from stapy.probes.values.programs import of_other_file
        from stapy.probes.values.variables import global_variable

        for module in modules:
            if module.startswith("/"):
                found = of_other_file(module, name, self.services)
            else:
                home = None if module == "kernel" else module
                found = global_variable(name, home, self.services)
            if found is not None:
                return found[0]
        return None

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

"""Which declarations take part: the user's scripts, and library files as they are needed.

A library file is taken as a whole when a function or global of it is used: its
globals, probes and top-level C then belong to the program.  So is the file of an
alias that is used, when it has probes or private names; else the alias's body is all
that is needed of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label, Span
from stapy.elaborate.typevars import TypeTable
from stapy.ir.program import LONG, STRING, Global
from stapy.ir.switches import MONITOR, NAMES
from stapy.parse import nodes as n
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.services import Services

USER_PRIORITY = 0
LIBRARY_PRIORITY = 1
MAX_KEYS = 9  # as many as the runtime's table of an array's keys has


class FileScope(Record):
    """One file: its private names."""

    script: n.Script
    globals: dict[str, Global] = new(dict)
    functions: dict[str, list[FunctionSource]] = new(dict)


class FunctionSource(Record):
    """A function declaration with the file that its private names come from."""

    decl: n.FunctionDecl
    file: FileScope
    order: int

    @property
    def priority(self) -> int:
        """Lower numbers are tried first; the user's functions come before the library's."""
        if self.decl.priority is not None:
            return self.decl.priority
        return LIBRARY_PRIORITY if self.file.script.is_library else USER_PRIORITY


class ProbeSource(Record):
    """A probe declaration and its file."""

    decl: n.ProbeDecl
    file: FileScope


class AliasSource(Record):
    """An alias declaration and its file."""

    decl: n.AliasDecl
    file: FileScope


class GlobalInfo(Record):
    """What resolving learnt about a global besides its record."""

    var: Global
    decl: n.GlobalDecl
    is_library: bool
    arity: int | None = None
    arity_span: Span | None = None
    has_complained: bool = False


class SymbolTable:
    """All declarations of one program, growing as library files are pulled in."""

    def __init__(self, services: Services, types: TypeTable) -> None:
        self.services = services
        self.types = types
        self.files: list[FileScope] = []
        self.globals: dict[str, Global] = {}  # the user's
        self.shared: dict[str, Global] = {}  # those of library files
        self.infos: dict[str, GlobalInfo] = {}  # by c_name
        self.functions: dict[str, list[FunctionSource]] = {}
        self.aliases: list[AliasSource] = []
        self.probes: list[ProbeSource] = []
        self.embedded: list[tuple[n.EmbeddedDecl, FileScope]] = []
        self._loaded: dict[str, FileScope | None] = {}
        self._alias_files: dict[str, FileScope | None] = {}
        self._taken: set[str] = set()
        self._order = 0

    def by_name(self) -> dict[str, Global]:
        """Map all globals by the names that embedded C gives them."""
        return {info.var.name: info.var for info in self.infos.values()}

    # --- taking files in ---------------------------------------------

    def add(self, script: n.Script) -> FileScope:
        """Take a whole file: globals, functions, aliases, probes and top-level C."""
        file = FileScope(script)
        self.files.append(file)
        self._declare(file)
        for decl in script.decls:
            if isinstance(decl, n.ProbeDecl):
                self.probes.append(ProbeSource(decl, file))
            elif isinstance(decl, n.AliasDecl) and not script.is_library:
                self.aliases.append(AliasSource(decl, file))
            elif isinstance(decl, n.EmbeddedDecl):
                self.embedded.append((decl, file))
        return file

    def _declare(self, file: FileScope) -> None:
        for decl in file.script.decls:
            if isinstance(decl, n.GlobalDecl):
                self._declare_global(decl, file)
            elif isinstance(decl, n.FunctionDecl):
                self._order += 1
                source = FunctionSource(decl, file, self._order)
                table = file.functions if decl.is_private else self.functions
                table.setdefault(decl.name, []).append(source)

    def _declare_global(self, decl: n.GlobalDecl, file: FileScope) -> None:
        table = self.shared if file.script.is_library else self.globals
        if decl.is_private:
            table = file.globals
        if decl.name in table:
            self._conflict(decl, table[decl.name])
            return
        c_name = self.unique("g_", decl.name)
        kind = self.types.new()
        init: int | str | None = None
        if decl.init is not None:
            init = decl.init.value
            self.types.unify(kind, STRING if isinstance(init, str) else LONG, decl.init.span)
        var = Global(
            decl.name,
            c_name,
            kind,
            size=decl.size or 0,
            size_set=decl.size is not None,
            wraps=decl.wraps,
            init=init,
            settable=decl.name in self.services.options.globals,
            span=decl.span,
        )
        table[decl.name] = var
        info = GlobalInfo(var, decl, file.script.is_library)
        if decl.init is not None:
            info.arity, info.arity_span = 0, decl.init.span
        self.infos[c_name] = info

    def _conflict(self, decl: n.GlobalDecl, other: Global) -> None:
        self.services.diagnostics.error(
            "semantic error",
            "E0204",
            f"duplicate global name '{decl.name}'",
            decl.span,
            where="declared again here",
            labels=[Label(other.span, "first declared here")],
            hint="rename one of them, or declare it 'private' in its file",
        )

    def unique(self, prefix: str, name: str) -> str:
        """Make a C name that nothing else has, from a prefix and a name."""
        base = prefix + "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        result, number = base, 1
        while result in self._taken:
            number += 1
            result = f"{base}_{number}"
        self._taken.add(result)
        return result

    def _pull(self, path: str) -> FileScope | None:
        if path not in self._loaded:
            script = self.services.library.load(path)
            self._loaded[path] = self.add(script) if script is not None else None
        return self._loaded[path]

    def alias_file(self, path: str) -> FileScope | None:
        """Load a library file for its aliases only, registering nothing; None if missing."""
        if self._loaded.get(path) is not None:
            return self._loaded[path]
        if path not in self._alias_files:
            script = self.services.library.load(path)
            file = None
            if script is not None:
                file = FileScope(script)
            self._alias_files[path] = file
        return self._alias_files[path]

    def enter(self, file: FileScope) -> FileScope:
        """Return the file as the resolver sees it, pulled in if it has private names or probes."""
        script = file.script
        if not script.is_library or file in self.files:
            return file
        whole = any(
            isinstance(decl, n.ProbeDecl) or getattr(decl, "is_private", False)
            for decl in script.decls
        )
        if not whole:
            return file
        return self._pull(script.path) or file

    # --- looking names up ---------------------------------------------

    def find_global(self, name: str, file: FileScope) -> Global | None:
        """Find the global that ``name`` means in ``file``; pull in a library file for it.

        Library code does not see the user's globals: its local variables stay
        local when the user happens to have a global of that name.
        """
        if name in file.globals:
            return file.globals[name]
        if file.script.path == MONITOR and name not in self.globals:
            for other in self.files:  # it shows private ones as well
                if not other.script.is_library and name in other.globals:
                    return other.globals[name]
        if not file.script.is_library and name in self.globals:
            return self.globals[name]
        if name not in self.shared:
            for path in self.services.library.files_with_global(name):
                self._pull(path)
        return self.shared.get(name)

    def find_functions(self, name: str, file: FileScope) -> list[FunctionSource]:
        """List all overloads of a name visible in ``file``, in the order they are tried."""
        private = file.functions.get(name)
        if private:
            return sorted(private, key=lambda f: (f.priority, f.order))
        if name.startswith(NAMES) and not file.script.is_library and file.script.path != MONITOR:
            # The library's mask interrupts and lift the bound of actions.
            return [one for one in self.functions.get(name, []) if not one.file.script.is_library]
        for path in self.services.library.files_with_function(name):
            if path not in self._loaded and not self._only_private(path, name):
                self._pull(path)
        found = self.functions.get(name, [])
        return sorted(found, key=lambda f: (f.priority, f.order))

    def _only_private(self, path: str, name: str) -> bool:
        file = self.alias_file(path)
        if file is None:
            return True
        return all(
            decl.is_private
            for decl in file.script.decls
            if isinstance(decl, n.FunctionDecl) and decl.name == name
        )

    def function_names(self, file: FileScope) -> Iterator[str]:
        """Yield every function name, for suggestions."""
        yield from file.functions
        yield from self.functions
        for name in self.services.library.function_names():
            if not name.startswith(NAMES):
                yield name

    def global_names(self, file: FileScope) -> list[str]:
        """List the global names of the user and of ``file``, for suggestions."""
        return [*file.globals, *self.globals]

    # --- arrays --------------------------------------------------------

    def note_arity(self, var: Global, arity: int, span: Span) -> bool:
        """Note how many keys a use of a global has; False (reported) when another use differs."""
        info = self.infos[var.c_name]
        if arity > MAX_KEYS and info.has_complained:
            return False
        if arity > MAX_KEYS:
            info.has_complained = True
            self.services.diagnostics.error(
                "semantic error",
                "E0205",
                f"too many array indexes: {arity}, at most {MAX_KEYS}",
                span,
                where=f"'{var.name}' has {arity} keys",
                hint="put several values into one key with sprintf()",
            )
            return False
        if info.arity is None:
            info.arity, info.arity_span = arity, span
            var.keys = [self.types.new() for _ in range(arity)]
            if arity == 0 and (info.decl.size is not None or info.decl.wraps):
                self.services.diagnostics.error(
                    "semantic error",
                    "E0205",
                    f"array '{var.name}' used as a scalar",
                    span,
                    where="no key here",
                    labels=[Label(var.span, "declared with a size here")],
                )
                return False
            return True
        if info.arity == arity:
            return True
        if info.has_complained:
            return False
        info.has_complained = True
        labels = []
        if info.arity_span is not None:
            labels.append(Label(info.arity_span, f"arity {info.arity} first inferred here"))
        self.services.diagnostics.error(
            "semantic error",
            "E0205",
            f"inconsistent arity ({info.arity} vs {arity})",
            span,
            where=f"'{var.name}' with {_keys(arity)} here",
            labels=labels,
            hint=f"{var.name}[…] is one of its elements; foreach goes through them"
            if info.arity and not arity
            else "use one number of keys everywhere; a scalar and an array need two names",
        )
        return False


def _keys(count: int) -> str:
    return "no key" if count == 0 else "1 key" if count == 1 else f"{count} keys"

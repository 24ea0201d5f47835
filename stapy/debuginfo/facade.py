"""The one facade of this package: questions about a kernel, answered by the cheapest rung.

The ladder, the same for every question:

1. BTF of the kernel or module: functions with their parameters, types,
   enumerators, tracepoints (``btf/``; opened through the cache by ``loading.py``);
2. the symbol table: which functions exist, without types (``symbols/``).
3. DWARF (``dwarf/``), for files and lines, inlined instances and locals;
4. nothing: `Debuginfo.missing_hint` says what to install.

Each answer names its rung.  Nothing here raises `DebuginfoError`: a damaged
file is reported once as a warning and its rung is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher
from stapy.debuginfo.loading import Loaded, kept, load_kernel, load_module
from stapy.debuginfo.lookup import similar
from stapy.debuginfo.lookup.aliases import second_names
from stapy.debuginfo.lookup.debug_files import DebugFiles
from stapy.debuginfo.lookup.same_name import told
from stapy.debuginfo.lookup.types import TypeRungs
from stapy.debuginfo.lookup.wildcards import PADDING, wanted
from stapy.debuginfo.sites import BTF, EXPORTS, SYMBOLS, FunctionSite, Places
from stapy.debuginfo.symbols.clones import copies_of, kinds_of
from stapy.debuginfo.symbols.table import MARKS, is_function, section_of
from stapy.debuginfo.tracepoints.matching import Tracepoint, Tracepoints
from stapy.diagnostics import Diagnostics
from stapy.kernel.modules import module_name
from stapy.kernel.release import install_command
from stapy.kernel.target import Kernel

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile, Place
    from stapy.debuginfo.lookup.addresses import Entry
    from stapy.debuginfo.lookup.line_pack import LineTable

T = TypeVar("T")


class Debuginfo:
    """What is known about one kernel and its modules; each file is opened on first need."""

    def __init__(self, kernel: Kernel, cache: Cache, diagnostics: Diagnostics) -> None:
        self.kernel = kernel
        self._cache = cache
        self._diagnostics = diagnostics
        self._kernel: Loaded | None = None
        self._modules: dict[str, Loaded | None] = {}
        self._noted: list[str] = []
        self.warnings = 0
        self._tracepoints = Tracepoints(self, cache)
        # Compiles what a cast names as headers; set by who can do that.
        self.headers: Callable[[str], Path | None] | None = None
        self._types = TypeRungs(self, cache)
        self._files = DebugFiles(self, cache)

    # --- opening ---------------------------------------------------------

    @property
    def loaded(self) -> Loaded:
        """The kernel's own data."""
        if self._kernel is None:
            self._kernel = load_kernel(self.kernel, self._cache)
            if self._kernel.btf is None:
                for problem in self._kernel.problems:
                    self.warn(problem)
        return self._kernel

    @property
    def btf(self) -> Btf | None:
        """The kernel's BTF."""
        return self.loaded.btf

    @property
    def dwarf(self) -> DwarfFile | None:
        """The kernel's DWARF, None when its debug file is not installed."""
        return self.dwarf_of(None)

    def dwarf_of(self, module: str | None, *, here: bool = False) -> DwarfFile | None:
        """The DWARF of the kernel (None) or of a module; None when there is none.

        With ``here`` only what is installed counts: for what is nice to have
        nothing is fetched from a server.  What a `Place` says is to be asked of the
        file of its ``module``.
        """
        return self._files.of(module, here)

    def module(self, name: str) -> Loaded | None:
        """A module's data, None when the kernel has no such module."""
        name = name.replace("-", "_")
        if name in ("kernel", "vmlinux"):  # how scripts name the kernel itself among modules
            return None
        if name not in self._modules:
            self._modules[name] = load_module(self.kernel, name, self.loaded.btf, self._cache)
            found = self._modules[name]
            for problem in found.problems if found else ():
                self.warn(problem)
        return self._modules[name]

    def module_names(self, pattern: str = "*") -> list[str]:
        """Modules of this kernel whose name matches, sorted; ``-`` reads as ``_``."""
        pattern = pattern.replace("-", "_") if "[" not in pattern else pattern
        if not has_wildcard(pattern):
            return [pattern] if self.module(pattern) is not None else []
        return sorted(filter(matcher(pattern), self.kernel.modules.files()))

    def built_in(self, pattern: str) -> list[str]:
        """What could be modules, but is part of this kernel: names that match."""
        return sorted(filter(matcher(pattern.replace("-", "_")), self.kernel.modules.builtin()))

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        """Build-ids of what was asked about: "kernel", and those of ``modules`` (names).

        What a script was translated with holds for these builds only.
        """
        opened: dict[str, Loaded | None] = {"kernel": self._kernel}
        for name in modules:
            name = name.replace("-", "_")
            opened[name] = self._modules.get(name)
        return {name: row.build_id for name, row in opened.items() if row and row.build_id}

    def module_files(self) -> list[Path]:
        """Files of the modules that were asked about, and the list of all where that was read."""
        folder = self.kernel.modules_dir
        listing = folder / "modules.dep" if folder is not None else None
        names = [*self._modules, *self._noted]
        found = [self.kernel.modules.path(name) for name in names]
        return [path for path in [*found, listing if found else None] if path is not None]

    def note(self, modules: list[str]) -> None:
        """An answer depends on modules that did not have to be opened."""
        self._noted += modules

    def loaded_modules(self) -> list[str]:
        """Modules that are loaded, when this kernel runs here."""
        from stapy.kernel.modules import loaded_modules

        return loaded_modules() if self.kernel.running else []

    def warn(self, text: str) -> None:
        """Tell of a file that is left out."""
        self.warnings += 1
        self._diagnostics.warning("W0680", f"debug information left out: {text}")

    def safe(self, otherwise: T, question: Callable[..., T], *arguments: object) -> T:
        """An answer, or ``otherwise`` and a warning when the file turns out to be damaged."""
        try:
            return question(*arguments)
        except DebuginfoError as error:
            self.warn(str(error))
            return otherwise

    def kept(self, key: str, make: Callable[[], bytes]) -> Buffer:
        """A content that is made of debug information, once for a key."""
        return kept(self._cache, key, make)

    def units(self, module: str | None) -> Iterator[tuple[str | None, Loaded]]:
        """The kernel (None), or the modules of a name that may have wildcards."""
        if module is None:
            yield None, self.loaded
            return
        for name in self.module_names(module):
            found = self.module(name)
            if found is not None:
                yield name, found

    # --- functions -------------------------------------------------------

    def functions(self, pattern: str, module: str | None = None) -> list[FunctionSite]:
        """Functions whose name matches, sorted by module and name.

        Of a pattern with wildcards, only what BTF (or, without it, the symbol
        table) calls a function and what the kernel lets one probe; ``__pfx_``
        symbols and pieces such as ``.cold`` only when the pattern names them.
        Copies that the compiler made (``f.isra.0``) belong to a wildcard that
        matches them, and stand for ``f`` where there is nothing else of that name.
        A pattern with ``@file`` is answered by DWARF, see `places`.
        """
        if "@" in pattern:
            return self.places(pattern, module).sites
        sites: list[FunctionSite] = []
        for name, loaded in self.units(module):
            found: list[FunctionSite] = []
            sites += self.safe(found, self._matching, pattern, name, loaded)
        return sites

    def function(self, name: str, module: str | None = None) -> FunctionSite | None:
        """The function of exactly this name, wherever it lies."""
        for unit, loaded in self.units(module):
            site = self.safe(None, self.exact, name, unit, loaded)
            if site is not None:
                return site
        return None

    def _matching(self, pattern: str, module: str | None, loaded: Loaded) -> list[FunctionSite]:
        if not has_wildcard(pattern):
            site = self.exact(pattern, module, loaded)
            return [site] if site is not None else self._copies(pattern, module, loaded)
        prefix, match = literal_prefix(pattern), matcher(pattern)
        kinds: dict[str, list[str]] = {}
        if loaded.symbols is not None:
            for name, kind in loaded.symbols.rows(prefix):
                if match(name):
                    kinds.setdefault(name, []).append(kind)
        numbers: dict[str, int | None] = {}
        if loaded.btf is not None and not pattern.startswith(PADDING):
            numbers.update(loaded.btf.function_numbers(pattern))
            if pattern.strip("*"):  # else first names match as well
                numbers.update(second_names(loaded, kinds, numbers))
            # BTF leaves out the compiler's copies.
            numbers.update((name, None) for name in kinds if "." in name)
        else:
            numbers.update(dict.fromkeys(kinds))
        return [
            self._site(name, module, loaded, kinds.get(name, []), number)
            for name, number in numbers.items()
            if wanted(name, pattern, kinds.get(name, []), loaded)
        ]

    def _copies(self, name: str, module: str | None, loaded: Loaded) -> list[FunctionSite]:
        """What the compiler made of a function that has no symbol of its own name."""
        rows = copies_of(name, loaded.symbols) if loaded.symbols is not None else []
        found = [self.exact(row, module, loaded) for row in rows]
        return [site for site in found if site is not None]

    def exact(self, name: str, module: str | None, loaded: Loaded) -> FunctionSite | None:
        """The function of exactly this name in one kernel or module."""
        kinds = kinds_of(name, loaded.symbols) if loaded.symbols is not None else []
        known = loaded.btf is not None and loaded.btf.has_function(name)
        if loaded.symbols is not None:
            if not is_function(kinds):
                return None
        elif not known:
            exported = module is None and self.exported(name)
            return FunctionSite(name, None, None, EXPORTS) if exported else None
        number = loaded.btf.function_number(name) if loaded.btf is not None else None
        if number is None:  # perhaps BTF knows it by another name that it has
            number = dict(second_names(loaded, {name: kinds}, ())).get(name)
        return self._site(name, module, loaded, kinds, number)

    @staticmethod
    def _site(
        name: str, module: str | None, loaded: Loaded, kinds: list[str], number: int | None
    ) -> FunctionSite:
        type: c.Function | None = None
        if loaded.btf is not None and number is not None:
            type = loaded.btf.prototype(number)
        rung = BTF if type is not None else SYMBOLS
        copies = max(1, sum(1 for kind in kinds if is_function([kind])))
        site = FunctionSite(name, module, type, rung, section_of(kinds), copies)
        btf = loaded.btf if type is not None else None
        if btf is not None and type is not None and (copies > 1 or btf.shares_name(name)):
            site.type, site.doubt = told(name, btf.prototypes(name) or [type], copies)
        return site

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        nearest: bool = False,
        entries: bool = False,
        here: bool = False,
        known: Container[tuple[str, str | None]] = (),
    ) -> Places:
        """What DWARF knows about ``name[@file[:line|:first-last|:*|+offset]]``.

        With ``entries`` lines stand for the functions that they are in.
        Out of line functions and inlined instances, or the statements at lines,
        in the kernel or in the modules of a name that may have wildcards.
        ``here`` is that of `dwarf_of`; ``known`` symbols (with their modules) are left out.
        """
        if not any(self.dwarf_of(unit, here=here) for unit, _ in self.units(module)):
            from stapy.debuginfo.dwarf.query.spec import parse

            return Places([], False, parse(text) is not None)
        from stapy.debuginfo.lookup.places import places

        return places(self, text, module, nearest=nearest, entries=entries, here=here, known=known)

    def site_at(self, place: Place) -> FunctionSite:
        """A place of DWARF with what the cheaper rungs know about it."""
        from stapy.debuginfo.lookup.places import site_at

        return site_at(self, place)

    def function_at(self, address: int, module: str | None = None) -> Entry | None:
        """The function that a link address lies in, by tables of symbols alone."""
        from stapy.debuginfo.lookup import addresses

        return self.safe(None, addresses.function_at, self, self._cache, address, module)

    def place_of(self, symbol: str, module: str | None = None) -> Place | None:
        """The first instruction of a symbol's function by DWARF; None without, or with several.

        For functions that BTF does not describe, such as ``f.isra.0``: their
        parameters are where DWARF says, if anywhere.
        """
        dwarf = self.dwarf_of(module, here=True)
        return None if dwarf is None else self.safe(None, dwarf.place_of, symbol)

    def prototype(self, symbol: str, module: str | None = None) -> c.Function | None:
        """A function's parameters and result by BTF or else by DWARF."""
        known = self.function(symbol, module)
        if known is not None and known.type is not None:
            return known.type
        place, dwarf = self.place_of(symbol, module), self.dwarf_of(module, here=True)
        if place is None or dwarf is None:
            return None
        found: c.Function | None = self.safe(None, dwarf.prototype, place)
        return found

    def line_table(self, module: str | None = None) -> LineTable | None:
        """The lines of the kernel or a module for lookups at run time; None without DWARF."""
        from stapy.debuginfo.lookup import line_pack

        return self.safe(None, line_pack.load, self, module, self._cache)

    def symbol_exists(self, name: str, module: str | None = None) -> bool:
        """True when a symbol, function or not, of this name is in the kernel or the module."""
        for _, loaded in self.units(module):
            if loaded.symbols is not None and loaded.symbols.kinds(name):
                return True
            if loaded.symbols is None and loaded.btf is not None and loaded.btf.has_function(name):
                return True
        return module is None and name in self.kernel.exports

    def symbol_kinds(self, name: str) -> list[str] | None:
        """Kinds (nm's letters) of the kernel's symbols of a name; None without a full table.

        Symbols of data are in the kernel's own table and in ``/proc/kallsyms``,
        not in what is kept of an unpacked ``vmlinux``.
        """
        symbols = self.loaded.symbols
        if symbols is None or not symbols.kinds("jiffies"):
            return None
        return symbols.kinds(name)

    def near_symbols(self, name: str, limit: int = 3) -> list[str]:
        """Symbols of the kernel's data whose names are like a wrong one."""
        return similar.symbols(self, name, limit)

    def exported(self, name: str) -> bool:
        """True when modules can link to this name."""
        return name in self.kernel.exports

    def exporter(self, name: str) -> str | None:
        """Who defines a function that modules link to: "kernel" or a module; None: nobody does."""
        found = self.kernel.exports.get(name)
        if found is not None:
            return "kernel" if found.owner == "vmlinux" else module_name(found.owner)
        if self.kernel.exports.known:
            return None
        return "kernel" if self.function(name) is not None else None

    # --- types -----------------------------------------------------------

    def type(self, name: str, modules: Iterable[str] = ()) -> c.CType | None:
        """``struct x``, ``union x``, ``enum x`` or ``x``; a full definition before a mere name.

        What BTF does not have is looked for by DWARF, where that is installed.
        """
        return self._types.type(name, list(modules))

    def complete(self, type: c.CType, modules: Iterable[str] = ()) -> c.CType:
        """The definition of a struct that is only declared where it was met, else the same."""
        if isinstance(type, c.Struct) and type.declaration:
            return self.type(f"{type.kind} {type.name}", modules) or type
        return type

    def enumerator(self, name: str, modules: Iterable[str] = ()) -> int | None:
        """The value of an enumeration constant: of ``modules``, then of the kernel."""
        return self._types.enumerator(name, list(modules))

    def variable(self, name: str, modules: Iterable[str] = ()) -> c.CType | None:
        """The type of a global variable, where BTF knows it (per-CPU variables)."""
        return self._types.variable(name, list(modules))

    def per_cpu(self, name: str, module: str | None = None) -> tuple[c.CType, int] | None:
        """Type of a per-CPU variable and its offset in each CPU's area, by BTF.

        Of the kernel (None) or of a module, which has areas of its own.
        """
        loaded = self.loaded if module is None else self.module(module)
        btf = loaded.btf if loaded is not None else None
        return None if btf is None else self.safe(None, btf.per_cpu, name)

    # --- tracepoints -----------------------------------------------------

    def tracepoints(self, pattern: str, module: str | None = None) -> list[Tracepoint]:
        """Tracepoints that match ``name`` or ``system:name``, both with wildcards.

        Without ``module`` (a pattern, too): those of the kernel and, for a pattern
        that matches none of them, those of all its modules.
        """
        return self._tracepoints.matching(pattern, module)

    # --- help ------------------------------------------------------------

    def near(self, name: str, limit: int = 3, module: str | None = None) -> list[str]:
        """Functions whose names are like a wrong one."""
        return similar.functions(self, name, limit, module)

    def near_tracepoints(self, name: str, limit: int = 3) -> list[str]:
        """The same for tracepoints."""
        return similar.tracepoints(self, name, limit)

    def near_types(self, name: str, limit: int = 3) -> list[str]:
        """The same for structs, unions and enums; ``name`` with or without that word."""
        return similar.types(self, name, limit)

    def near_enumerators(self, name: str, limit: int = 3) -> list[str]:
        """The same for enumeration constants."""
        return similar.enumerators(self, name, limit)

    def missing_hint(self, what: str) -> str:
        """What to install for ``lines``, ``inlines``, ``locals`` (debuginfo), ``headers``, ``btf``.

        A sentence with a command that can be pasted.
        """
        release = self.kernel.release
        if what == "headers":
            command = install_command("headers", release)
            return f"kernel headers: {command}" if command else f"install headers of {release}"
        if what in ("btf", "symbols", "image"):
            command = install_command("image", release)
            where = f"/boot/vmlinuz-{release}"
            return f"{where} has them: {command}" if command else f"they are read from {where}"
        command = install_command("debuginfo", release)
        if not command:
            return f"the kernel's debug package for {release} has them"
        return f"the kernel's debug package has them: {command}"


__all__ = ["MARKS", "Debuginfo", "FunctionSite", "Places", "Tracepoint"]

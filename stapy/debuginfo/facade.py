"""The one facade of this package: questions about a kernel, answered by the cheapest source.

The sources, in this order for every question:

1. BTF of the kernel or module: functions with their parameters, types,
   enumerators, tracepoints (``btf/``; opened through the cache by ``loading.py``);
2. the symbol table: which functions exist, without types (``symbols/``).
3. DWARF (``dwarf/``), for files and lines, inlined instances and locals;
4. nothing: `Debuginfo.missing_hint` says what to install.

Each answer names its source.  Nothing here raises `DebuginfoError`: a damaged
file is reported once as a warning and that source is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stapy.arch import X86_64, architecture
from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.sites import FunctionSite, FunctionSites
from stapy.debuginfo.units import KernelUnits
from stapy.debuginfo.user.programs import Programs
from stapy.diagnostics import Diagnostics
from stapy.kernel.modules import module_name
from stapy.kernel.offers import lacks, way_to
from stapy.kernel.target import Kernel

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.lookup.addresses import FunctionStart
    from stapy.debuginfo.lookup.debug_files import DebugFiles
    from stapy.debuginfo.lookup.functions import Functions
    from stapy.debuginfo.lookup.line_pack import LineTable
    from stapy.debuginfo.lookup.types import TypeLookup
    from stapy.debuginfo.tracepoints.headers import Compile
    from stapy.debuginfo.tracepoints.matching import Tracepoint, Tracepoints

T = TypeVar("T")


class Debuginfo(KernelUnits):
    """What is known about one kernel and its modules; each file is opened on first need."""

    def __init__(self, kernel: Kernel, cache: Cache, diagnostics: Diagnostics) -> None:
        super().__init__(kernel, cache, diagnostics)
        # Compiles what a cast names as headers; set by who can do that.
        self.headers: Callable[[str], Path | None] | None = None
        self.programs = Programs(cache, self.warn, architecture(kernel.arch) or X86_64)
        self._compile: Compile | None = None  # trace headers

    # What a session asks nothing about, such as one about programs only, is not loaded.

    @cached_property
    def _functions(self) -> Functions:
        from stapy.debuginfo.lookup.functions import Functions

        return Functions(self)

    @cached_property
    def _files(self) -> DebugFiles:
        from stapy.debuginfo.lookup.debug_files import DebugFiles

        return DebugFiles(self)

    @cached_property
    def _types(self) -> TypeLookup:
        from stapy.debuginfo.lookup.types import TypeLookup

        return TypeLookup(self, self._files, self._compiled, self.programs.dwarf_at)

    @cached_property
    def _tracepoints(self) -> Tracepoints:
        from stapy.debuginfo.tracepoints.matching import Tracepoints

        found = Tracepoints(self, self._files.of_object)
        found.by_headers.compile = self._compile
        return found

    def _compiled(self, headers: str) -> Path | None:
        """Compile headers for their types."""
        return self.headers(headers) if self.headers is not None else None

    def compile_trace_headers(self, compile: Compile) -> None:
        """Have trace headers compiled, where the kernel's BTF does not tell what points pass."""
        self._compile = compile
        if "_tracepoints" in vars(self):
            self._tracepoints.by_headers.compile = compile

    # --- debug files -----------------------------------------------------

    @property
    def dwarf(self) -> DwarfFile | None:
        """The kernel's DWARF, None when its debug file is not installed."""
        return self.dwarf_of(None)

    def dwarf_of(self, module: str | None, *, download: bool = True) -> DwarfFile | None:
        """Find the DWARF of the kernel (None) or of a module; None when there is none.

        Without ``download`` only what is installed counts: for what is nice to have
        nothing is fetched from a server.  What a `CodePlace` says is to be asked of the
        file of its ``module``.
        """
        if not self._reads_dwarf():
            return None
        return self._files.of(module, download=download)

    def _reads_dwarf(self) -> bool:
        known = architecture(self.kernel.arch)
        return known is None or known.reads_dwarf

    def debug_file(self) -> tuple[Path | None, list[str]]:
        """Name the kernel's installed debug file, and what is wrong with others of its name."""
        return self._files.installed()

    def module_files(self) -> list[Path]:
        """List files of the modules asked about, and of the programs."""
        return super().module_files() + self.programs.files()

    # --- functions -------------------------------------------------------

    def functions(self, pattern: str, module: str | None = None) -> list[FunctionSite]:
        """Find functions whose name matches, sorted by module and name.

        Of a pattern with wildcards, only what BTF (or, without it, the symbol
        table) calls a function and what the kernel lets one probe; ``__pfx_``
        symbols and pieces such as ``.cold`` only when the pattern names them.
        Copies that the compiler made (``f.isra.0``) belong to a wildcard that
        matches them, and stand for ``f`` where there is nothing else of that name.
        A pattern with ``@file`` is answered by DWARF, see `places`.
        """
        if "@" in pattern:
            return self.places(pattern, module).sites
        return self._functions.matching(pattern, module)

    def function(self, name: str, module: str | None = None) -> FunctionSite | None:
        """Find the function of exactly this name, wherever it lies."""
        return self._functions.named(name, module)

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> FunctionSites:
        """Ask DWARF about ``name[@file[:line|:first-last|:*|+offset]]``.

        With ``lines_as_functions`` lines stand for the functions that they are in.
        Out of line functions and inlined instances, or the statements at lines,
        in the kernel or in the modules of a name that may have wildcards.
        ``download`` is that of `dwarf_of`; ``known`` symbols (with their modules) are left out.
        """
        if not any(self.dwarf_of(unit, download=download) for unit, _ in self.units(module)):
            return FunctionSites([], False, parse(text) is not None)
        from stapy.debuginfo.lookup.places import PlaceLookup

        lookup = PlaceLookup(self, self._functions, self._files)
        return lookup.places(
            text,
            module,
            allow_nearest=allow_nearest,
            lines_as_functions=lines_as_functions,
            download=download,
            known=known,
        )

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Describe a place of DWARF with what the cheaper sources know about it."""
        from stapy.debuginfo.lookup.places import PlaceLookup

        return PlaceLookup(self, self._functions, self._files).site_at(place)

    def function_at(self, address: int, module: str | None = None) -> FunctionStart | None:
        """Find the function that a link address lies in, by tables of symbols alone."""
        from stapy.debuginfo.lookup import addresses

        return self.safe(None, addresses.function_at, self, self._functions, address, module)

    def place_of(self, symbol: str, module: str | None = None) -> CodePlace | None:
        """Find the first instruction of a symbol's function by DWARF; None if not just one.

        For functions that BTF does not describe, such as ``f.isra.0``: their
        parameters are where DWARF says, if anywhere.
        """
        dwarf = self.dwarf_of(module, download=False)
        return None if dwarf is None else self.safe(None, dwarf.place_of, symbol)

    def prototype(self, symbol: str, module: str | None = None) -> c.FunctionType | None:
        """Read a function's parameters and result from BTF or else from DWARF."""
        known = self.function(symbol, module)
        if known is not None and known.type is not None:
            return known.type
        place, dwarf = self.place_of(symbol, module), self.dwarf_of(module, download=False)
        if place is None or dwarf is None:
            return None
        found: c.FunctionType | None = self.safe(None, dwarf.prototype, place)
        return found

    def line_table(self, module: str | None = None) -> LineTable | None:
        """Pack the lines of the kernel or a module for lookups at run time; None without DWARF."""
        from stapy.debuginfo.lookup import line_pack

        dwarf = self.dwarf_of(module)
        return None if dwarf is None else self.safe(None, line_pack.load, dwarf, self.cache)

    def symbol_kinds(self, name: str) -> list[str] | None:
        """List the kinds (nm's letters) of the kernel's symbols of a name; None without a table.

        Symbols of data are in the kernel's own table and in ``/proc/kallsyms``,
        not in what is kept of an unpacked ``vmlinux``.
        """
        symbols = self.loaded.symbols
        if symbols is None or not symbols.kinds("jiffies"):
            return None
        return symbols.kinds(name)

    def similar_symbols(self, name: str, limit: int = 3) -> list[str]:
        """Suggest symbols of the kernel's data whose names are like a wrong one."""
        from stapy.debuginfo.lookup import similar

        return similar.symbols(self, name, limit)

    def exported(self, name: str) -> bool:
        """Tell whether modules can link to this name."""
        return name in self.kernel.exports

    def exporter(self, name: str) -> str | None:
        """Say who defines what modules link to: "kernel" or a module; None: nobody does."""
        found = self.kernel.exports.get(name)
        if found is not None:
            return "kernel" if found.owner == "vmlinux" else module_name(found.owner)
        if self.kernel.exports.is_known:
            return None
        return "kernel" if self.function(name) is not None else None

    # --- types -----------------------------------------------------------

    def type(self, name: str, modules: Iterable[str] = ()) -> c.CType | None:
        """Look up ``struct x``, ``union x``, ``enum x`` or ``x``; None when nobody knows it.

        A full definition comes before a mere name. What BTF does not have is looked for by DWARF,
        where that is installed.
        """
        return self._types.type(name, list(modules))

    def complete(self, type: c.CType, modules: Iterable[str] = ()) -> c.CType:
        """Find the definition of a struct that is only declared where it was met, else keep it."""
        if isinstance(type, c.Struct) and type.is_declaration:
            name = f"{type.kind} {type.name}"
            return self.type(name, modules) or self._tracepoints.by_headers.type(name) or type
        return type

    def enumerator(self, name: str, modules: Iterable[str] = ()) -> int | None:
        """Look up the value of an enumeration constant: of ``modules``, then of the kernel."""
        return self._types.enumerator(name, list(modules))

    def variable(self, name: str, modules: Iterable[str] = ()) -> c.CType | None:
        """Look up the type of a global variable, where BTF knows it (per-CPU variables)."""
        return self._types.variable(name, list(modules))

    def per_cpu(self, name: str, module: str | None = None) -> tuple[c.CType, int] | None:
        """Look up the type of a per-CPU variable and its offset in each CPU's area, by BTF.

        Of the kernel (None) or of a module, which has areas of its own.
        """
        loaded = self.loaded if module is None else self.module(module)
        btf = loaded.btf if loaded is not None else None
        return None if btf is None else self.safe(None, btf.per_cpu, name)

    # --- tracepoints -----------------------------------------------------

    def tracepoints(self, pattern: str, module: str | None = None) -> list[Tracepoint]:
        """Find tracepoints that match ``name`` or ``system:name``, both with wildcards.

        Without ``module`` (a pattern, too): those of the kernel and, for a pattern
        that matches none of them, those of all its modules.
        """
        return self._tracepoints.matching(pattern, module)

    # --- help ------------------------------------------------------------

    def similar_functions(self, name: str, limit: int = 3, module: str | None = None) -> list[str]:
        """Suggest functions whose names are like a wrong one."""
        from stapy.debuginfo.lookup import similar

        return similar.functions(self, name, limit, module)

    def similar_tracepoints(self, name: str, limit: int = 3) -> list[str]:
        """Suggest tracepoints whose names are like a wrong one."""
        from stapy.debuginfo.lookup import similar

        return similar.tracepoints(self, self._tracepoints, name, limit)

    def similar_types(self, name: str, limit: int = 3) -> list[str]:
        """Suggest structs, unions and enums; ``name`` is with or without that word."""
        from stapy.debuginfo.lookup import similar

        return similar.types(self, name, limit)

    def similar_enumerators(self, name: str, limit: int = 3) -> list[str]:
        """Suggest enumeration constants whose names are like a wrong one."""
        from stapy.debuginfo.lookup import similar

        return similar.enumerators(self, name, limit)

    def missing_hint(self, what: str) -> str:
        """Say what to install for ``what``.

        That is ``lines``, ``inlines``, ``locals`` (debuginfo), ``headers`` or ``btf``.
        A sentence with a command that can be pasted.
        """
        release = self.kernel.release
        if what == "headers":
            command = way_to("headers", release)
            return f"kernel headers: {command}" if command else f"install headers of {release}"
        if what in ("btf", "symbols", "image"):
            command = way_to("image", release)
            where = f"/boot/vmlinuz-{release}"
            return f"{where} has them: {command}" if command else f"they are read from {where}"
        if not self._reads_dwarf():
            return f"debug information of {self.kernel.arch} kernels is not read"
        command = way_to("debuginfo", release)
        if not command:
            return f"the kernel's debug package for {release} has them"
        if lacks(command.rpartition(" ")[2]):
            return f"{command}, which would have them"
        return f"the kernel's debug package has them: {command}"


__all__ = ["Debuginfo", "FunctionSite", "FunctionSites"]

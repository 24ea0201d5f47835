"""What a session hands to passes 2 and 3 besides the record to work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from stapy.arch import X86_64, Architecture, architecture
from stapy.options.versions import compare_versions
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from stapy.debuginfo.btf.reader import Btf
    from stapy.debuginfo.ctypes import CType
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.elf import Buffer
    from stapy.debuginfo.loading import Loaded
    from stapy.debuginfo.lookup.addresses import FunctionStart
    from stapy.debuginfo.lookup.line_pack import LineTable
    from stapy.debuginfo.sites import FunctionSite, FunctionSites
    from stapy.debuginfo.tracepoints.matching import Tracepoint
    from stapy.debuginfo.user.programs import Programs
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.parse.nodes import Script

T = TypeVar("T")


class LibraryLike(Protocol):
    """What pass 2 asks of the tapset library (``stapy/parse/library.py``)."""

    def files_with_function(self, name: str) -> Sequence[str]:
        """List the paths of the files that define a function."""

    def files_with_global(self, name: str) -> Sequence[str]:
        """List the paths of the files that define a global."""

    def alias_names(self) -> Iterable[tuple[tuple[str, ...], str]]:
        """List every alias as ``(component names, file)``."""

    def exact_alias_names(self) -> set[str]:
        """Collect last components of aliases that no wildcard shall match."""

    def function_names(self) -> Iterable[str]:
        """List the names of all functions, for suggestions."""

    def load(self, path: str) -> Script | None:
        """Parse one file; None when it has errors (reported once) or holds nothing."""


class DebuginfoLike(Protocol):
    """What passes 2 and 3 ask of the debug information (``stapy/debuginfo``)."""

    warnings: int

    @property
    def kernel(self) -> Kernel:
        """The kernel that the answers are about."""

    @property
    def loaded(self) -> Loaded:
        """The kernel's own data."""

    @property
    def btf(self) -> Btf | None:
        """The kernel's BTF."""

    @property
    def programs(self) -> Programs:
        """What is known of the files of user programs."""

    def units(self, module: str | None) -> Iterator[tuple[str | None, Loaded]]:
        """Yield the kernel (None), or the modules of a name with wildcards, opened."""

    def kept(self, key: str, make: Callable[[], bytes]) -> Buffer:
        """Return what ``make`` makes of debug information; kept under ``key``."""

    def note(self, modules: list[str]) -> None:
        """Note that an answer depends on modules that did not have to be opened."""

    def safe(self, otherwise: T, question: Callable[..., T], *arguments: object) -> T:
        """Call ``question``; warn and return ``otherwise`` if the file is damaged."""

    def functions(self, pattern: str, module: str | None = None) -> Sequence[FunctionSite]:
        """Find functions by a pattern with wildcards."""

    def function(self, name: str, module: str | None = None) -> FunctionSite | None:
        """Find the function of exactly this name; None when there is none."""

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
        """Ask DWARF about ``name@file:line``."""

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Describe a place of DWARF with what cheaper sources know about it."""

    def module_names(self, pattern: str = "*") -> list[str]:
        """List the modules of this kernel whose name matches."""

    def built_in(self, pattern: str) -> list[str]:
        """List what could be modules, but is part of this kernel."""

    def symbol_kinds(self, name: str) -> list[str] | None:
        """List the kinds (nm's letters) of the kernel's symbols of a name.

        None when that cannot be known.
        """

    def similar_symbols(self, name: str, limit: int = 3) -> list[str]:
        """Suggest symbols of data whose names are like a wrong one."""

    def variable(self, name: str) -> CType | None:
        """Look up the type of a per-CPU variable; None when BTF does not know it."""

    def per_cpu(self, name: str, module: str | None = None) -> tuple[CType, int] | None:
        """Look up a per-CPU variable's type and its offset in each CPU's area."""

    def dwarf_of(self, module: str | None, *, download: bool = True) -> DwarfFile | None:
        """Find the debug file of the kernel (None) or of a module; None without."""

    def place_of(self, symbol: str, module: str | None = None) -> CodePlace | None:
        """Find the first instruction of a symbol's function; None without DWARF."""

    def exported(self, name: str) -> bool:
        """Tell whether modules may call a function of this name."""

    def type(self, name: str, modules: Sequence[str] = ()) -> CType | None:
        """Look up a type by name: ``struct x``, ``x`` …; None when unknown."""

    def complete(self, type: CType, modules: Sequence[str] = ()) -> CType:
        """Find the definition of a struct that is only declared, else keep it."""

    def enumerator(self, name: str, modules: Sequence[str] = ()) -> int | None:
        """Look up the value of an enumeration constant; None when unknown."""

    def tracepoints(self, pattern: str, module: str | None = None) -> Sequence[Tracepoint]:
        """Find the tracepoints that match ``name`` or ``system:name``."""

    def similar_functions(self, name: str, limit: int = 3, module: str | None = None) -> list[str]:
        """Suggest functions whose names are like a wrong one."""

    def similar_types(self, name: str, limit: int = 3) -> list[str]:
        """Suggest structs, unions and enums whose names are like a wrong one."""

    def similar_enumerators(self, name: str, limit: int = 3) -> list[str]:
        """Suggest enumeration constants with names like a wrong one."""

    def similar_tracepoints(self, name: str, limit: int = 3) -> list[str]:
        """Suggest tracepoints whose names are like a wrong one."""

    def function_at(self, address: int, module: str | None = None) -> FunctionStart | None:
        """Find the function that a link address lies in, by symbol tables."""

    def exporter(self, name: str) -> str | None:
        """Say who exports a function to modules: "kernel" or a module.

        None when nobody does.
        """

    def line_table(self, module: str | None = None) -> LineTable | None:
        """Pack the lines of the kernel or a module for lookups at run time.

        None without DWARF.
        """

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        """Look up build-ids (hex) of the kernel and of modules asked about."""

    def module_files(self) -> list[Path]:
        """List the files of the modules that were asked about."""

    def loaded_modules(self) -> list[str]:
        """List the modules that are loaded; none of another kernel."""

    def missing_hint(self, what: str) -> str:
        """Say which package would give ``what``, as one action."""


class Services(Record):
    """Services of one session; without a kernel in tests, where nothing asks for one."""

    options: Options
    diagnostics: Diagnostics
    sources: SourceMap
    kernel: Kernel | None
    debuginfo: DebuginfoLike
    library: LibraryLike
    listing_expires: bool = False  # what was listed is not to be remembered: it changes

    @property
    def machine(self) -> Architecture:
        """The architecture of the kernel; no module is made for one that has no record."""
        known = architecture(self.kernel.arch) if self.kernel is not None else None
        return known or X86_64

    @property
    def kernel_name(self) -> str:
        """The kernel in messages: it may be another than the reader thinks of."""
        return f"kernel {self.kernel.release}" if self.kernel is not None else "this kernel"

    def at_least(self, version: str) -> bool:
        """Tell whether the language spoken (``--compatible``) is ``version`` or newer."""
        spoken = self.options.compatible
        return not spoken or compare_versions(spoken, version) >= 0

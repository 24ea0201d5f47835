"""What a session hands to passes 2 and 3 besides the record to work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

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
    from stapy.debuginfo.sites import FunctionSite, Places
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
        """Paths of the files that define a function."""

    def files_with_global(self, name: str) -> Sequence[str]:
        """Paths of the files that define a global."""

    def alias_names(self) -> Iterable[tuple[tuple[str, ...], str]]:
        """``(component names, file)`` of every alias."""

    def exact_alias_names(self) -> set[str]:
        """Last components of the aliases that no wildcard shall match."""

    def function_names(self) -> Iterable[str]:
        """Names of all functions, for suggestions."""

    def load(self, path: str) -> Script | None:
        """The tree of one file; None when it does not parse (already reported)."""


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
        """The kernel (None), or the modules of a name that may have wildcards."""

    def kept(self, key: str, make: Callable[[], bytes]) -> Buffer:
        """A content that is made of debug information, once for a key."""

    def note(self, modules: list[str]) -> None:
        """An answer depends on modules that did not have to be opened."""

    def safe(self, otherwise: T, question: Callable[..., T], *arguments: object) -> T:
        """An answer, or ``otherwise`` and a warning when the file turns out to be damaged."""

    def functions(self, pattern: str, module: str | None = None) -> Sequence[FunctionSite]:
        """Functions by wildcard."""

    def function(self, name: str, module: str | None = None) -> FunctionSite | None:
        """The function of exactly this name."""

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> Places:
        """What DWARF knows about ``name@file:line``."""

    def site_at(self, place: CodePlace) -> FunctionSite:
        """A place of DWARF with what cheaper sources know about it."""

    def module_names(self, pattern: str = "*") -> list[str]:
        """Modules of this kernel whose name matches."""

    def built_in(self, pattern: str) -> list[str]:
        """What could be modules, but is part of this kernel."""

    def symbol_kinds(self, name: str) -> list[str] | None:
        """Kinds of the kernel's symbols of a name; None when that cannot be known."""

    def similar_symbols(self, name: str, limit: int = 3) -> list[str]:
        """Symbols with similar names."""

    def variable(self, name: str) -> CType | None:
        """Type of a per-CPU variable."""

    def per_cpu(self, name: str, module: str | None = None) -> tuple[CType, int] | None:
        """Type of a per-CPU variable and its offset in each CPU's area."""

    def dwarf_of(self, module: str | None, *, download: bool = True) -> DwarfFile | None:
        """The debug file of the kernel (None) or of a module."""

    def place_of(self, symbol: str, module: str | None = None) -> CodePlace | None:
        """The first instruction of a symbol's function by DWARF."""

    def exported(self, name: str) -> bool:
        """True for a function that modules may call."""

    def type(self, name: str, modules: Sequence[str] = ()) -> CType | None:
        """A type by name: ``struct x``, ``x`` …"""

    def complete(self, type: CType, modules: Sequence[str] = ()) -> CType:
        """The definition of a struct that is only declared where it was met, else the same."""

    def enumerator(self, name: str, modules: Sequence[str] = ()) -> int | None:
        """Value of an enumeration constant."""

    def tracepoints(self, pattern: str, module: str | None = None) -> Sequence[Tracepoint]:
        """Tracepoints by ``name`` or ``system:name``."""

    def similar_functions(self, name: str, limit: int = 3, module: str | None = None) -> list[str]:
        """Functions with similar names."""

    def similar_types(self, name: str, limit: int = 3) -> list[str]:
        """Types with similar names."""

    def similar_enumerators(self, name: str, limit: int = 3) -> list[str]:
        """Enumeration constants with similar names."""

    def similar_tracepoints(self, name: str, limit: int = 3) -> list[str]:
        """Tracepoints with similar names."""

    def function_at(self, address: int, module: str | None = None) -> FunctionStart | None:
        """The function that a link address lies in, by tables of symbols."""

    def exporter(self, name: str) -> str | None:
        """Who exports a function to modules: "kernel" or a module; None when nobody does."""

    def line_table(self, module: str | None = None) -> LineTable | None:
        """The lines of the kernel or a module for lookups at run time; None without DWARF."""

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        """Build-ids of the kernel and of modules, as far as they were asked about."""

    def module_files(self) -> list[Path]:
        """Files of the modules that were asked about."""

    def loaded_modules(self) -> list[str]:
        """Modules that are loaded, when this kernel runs here."""

    def missing_hint(self, what: str) -> str:
        """Which package would give ``what``, as one action."""


class Services(Record):
    """Services of one session; without a kernel in tests, where nothing asks for one."""

    options: Options
    diagnostics: Diagnostics
    sources: SourceMap
    kernel: Kernel | None
    debuginfo: DebuginfoLike
    library: LibraryLike
    listing_expires: bool = False  # what was listed is not to be remembered: it changes

    def at_least(self, version: str) -> bool:
        """Whether the language spoken (``--compatible``) is that of ``version`` or newer."""
        spoken = self.options.compatible
        return not spoken or compare_versions(spoken, version) >= 0

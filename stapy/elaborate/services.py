"""What a session hands to passes 2 and 3 besides the record to work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.options import Options
from stapy.options.versions import compare_versions
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from stapy.debuginfo.ctypes import CType, Function, Parameter
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.facade import Places
    from stapy.debuginfo.lookup.addresses import FunctionStart
    from stapy.parse.nodes import Script


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


class FunctionSiteLike(Protocol):
    """A function that can be probed."""

    name: str
    module: str | None
    type: Function | None
    source: str
    namesakes: int


class TracepointLike(Protocol):
    """A tracepoint and the parameters it passes."""

    system: str
    name: str
    module: str | None
    params: list[Parameter]


class DebuginfoLike(Protocol):
    """The facade of debug information (``stapy/debuginfo/facade.py``)."""

    def functions(self, pattern: str, module: str | None = None) -> Sequence[FunctionSiteLike]:
        """Functions by wildcard."""

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        nearest: bool = False,
        entries: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> Places:
        """What DWARF knows about ``name@file:line``."""

    def symbol_kinds(self, name: str) -> list[str] | None:
        """Kinds of the kernel's symbols of a name; None when that cannot be known."""

    def similar_symbols(self, name: str, limit: int = 3) -> list[str]:
        """Symbols with similar names."""

    def variable(self, name: str) -> CType | None:
        """Type of a per-CPU variable."""

    def dwarf_of(self, module: str | None, *, download: bool = True) -> DwarfFile | None:
        """The debug file of the kernel (None) or of a module."""

    def place_of(self, symbol: str, module: str | None = None) -> CodePlace | None:
        """The first instruction of a symbol's function by DWARF."""

    def exported(self, name: str) -> bool:
        """True for a function that modules may call."""

    def type(self, name: str, modules: list[str]) -> CType | None:
        """A type by name: ``struct x``, ``x`` …"""

    def enumerator(self, name: str, modules: Sequence[str] = ()) -> int | None:
        """Value of an enumeration constant."""

    def tracepoints(self, pattern: str, module: str | None = None) -> Sequence[TracepointLike]:
        """Tracepoints by ``name`` or ``system:name``."""

    def similar_functions(self, name: str, n: int = 3) -> list[str]:
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

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        """Build-ids of the kernel and of modules, as far as they were asked about."""

    def missing_hint(self, what: str) -> str:
        """Which package would give ``what``, as one action."""


class NoLibrary:
    """A library without files: ``--library-less`` tests and listings of families."""

    def files_with_function(self, name: str) -> Sequence[str]:
        """No files."""
        return ()

    def files_with_global(self, name: str) -> Sequence[str]:
        """No files."""
        return ()

    def alias_names(self) -> Iterable[tuple[tuple[str, ...], str]]:
        """No aliases."""
        return ()

    def exact_alias_names(self) -> set[str]:
        """No aliases."""
        return set()

    def function_names(self) -> Iterable[str]:
        """No functions."""
        return ()

    def load(self, path: str) -> Script | None:
        """Nothing to load."""
        return None


class Services(Record):
    """Services of one session; ``kernel`` is the record of ``stapy/kernel``."""

    options: Options
    diagnostics: Diagnostics
    sources: SourceMap
    kernel: Any
    debuginfo: Any
    library: Any
    momentary: bool = False  # what was listed is not to be remembered: it changes

    def at_least(self, version: str) -> bool:
        """Whether the language spoken (``--compatible``) is that of ``version`` or newer."""
        spoken = self.options.compatible
        return not spoken or compare_versions(spoken, version) >= 0

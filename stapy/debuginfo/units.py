"""One kernel and its modules: each is opened on first need, and damaged files are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stapy.cache import Cache
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.glob import has_wildcard, matcher
from stapy.debuginfo.keeping import kept
from stapy.diagnostics import Diagnostics
from stapy.kernel.modules import loaded_modules
from stapy.kernel.target import Kernel

if TYPE_CHECKING:
    from stapy.debuginfo.btf.reader import Btf
    from stapy.debuginfo.loading import Loaded

T = TypeVar("T")


class KernelUnits:
    """What is opened of a kernel; all answers about it begin here.

    Nothing that is asked through `safe` raises `DebuginfoError`: a damaged file is
    reported once as a warning.
    """

    def __init__(self, kernel: Kernel, cache: Cache, diagnostics: Diagnostics) -> None:
        self.kernel = kernel
        self.cache = cache
        self._diagnostics = diagnostics.about_files()
        self._kernel: Loaded | None = None
        self._modules: dict[str, Loaded | None] = {}
        self._noted: list[str] = []
        self.warnings = 0

    @property
    def loaded(self) -> Loaded:
        """Open the kernel's own data."""
        if self._kernel is None:
            from stapy.debuginfo.loading import load_kernel

            self._kernel = load_kernel(self.kernel, self.cache)
            if self._kernel.btf is None:
                for problem in self._kernel.problems:
                    self.warn(problem)
        return self._kernel

    @property
    def btf(self) -> Btf | None:
        """Open the kernel's BTF."""
        return self.loaded.btf

    def module(self, name: str) -> Loaded | None:
        """Open a module's data, None when the kernel has no such module."""
        name = name.replace("-", "_")
        if name in ("kernel", "vmlinux"):  # how scripts name the kernel itself among modules
            return None
        if name not in self._modules:
            from stapy.debuginfo.loading import load_module

            self._modules[name] = load_module(self.kernel, name, self.loaded.btf, self.cache)
            found = self._modules[name]
            for problem in found.problems if found else ():
                self.warn(problem)
        return self._modules[name]

    def module_names(self, pattern: str = "*") -> list[str]:
        """List modules of this kernel whose name matches, sorted; ``-`` reads as ``_``."""
        pattern = pattern.replace("-", "_") if "[" not in pattern else pattern
        if not has_wildcard(pattern):
            return [pattern] if self.module(pattern) is not None else []
        return sorted(filter(matcher(pattern), self.kernel.modules.files()))

    def built_in(self, pattern: str) -> list[str]:
        """List what could be modules, but is part of this kernel: names that match."""
        return sorted(filter(matcher(pattern.replace("-", "_")), self.kernel.modules.builtin()))

    def build_ids(self, modules: Iterable[str]) -> dict[str, str]:
        """List the build-ids of what was asked about: "kernel", and those of ``modules`` (names).

        What a script was translated with holds for these builds only.
        """
        opened: dict[str, Loaded | None] = {"kernel": self._kernel}
        for name in modules:
            name = name.replace("-", "_")
            opened[name] = self._modules.get(name)
        return {name: row.build_id for name, row in opened.items() if row and row.build_id}

    def module_files(self) -> list[Path]:
        """List files of the modules asked about, and the list of all where that was read."""
        folder = self.kernel.modules_dir
        listing = folder / "modules.dep" if folder is not None else None
        names = [*self._modules, *self._noted]
        found = [self.kernel.modules.path(name) for name in names]
        return [path for path in [*found, listing if found else None] if path is not None]

    def note(self, modules: list[str]) -> None:
        """Remember that an answer depends on modules that did not have to be opened."""
        self._noted += modules

    def loaded_modules(self) -> list[str]:
        """List the modules that are loaded, when this kernel runs here."""
        return loaded_modules() if self.kernel.is_running else []

    def warn(self, text: str) -> None:
        """Tell of a file that is left out."""
        self.warnings += 1
        self._diagnostics.warning("W0680", f"debug information left out: {text}")

    def safe(self, otherwise: T, question: Callable[..., T], *arguments: object) -> T:
        """Call ``question``; warn and return ``otherwise`` when the file turns out damaged."""
        try:
            return question(*arguments)
        except DebuginfoError as error:
            self.warn(str(error))
            return otherwise

    def kept(self, key: str, make: Callable[[], bytes]) -> Buffer:
        """Make a content out of debug information, once for a key."""
        return kept(self.cache, key, make)

    def units(self, module: str | None) -> Iterator[tuple[str | None, Loaded]]:
        """Open the kernel (None), or the modules of a name that may have wildcards."""
        if module is None:
            yield None, self.loaded
            return
        for name in self.module_names(module):
            found = self.module(name)
            if found is not None:
                yield name, found

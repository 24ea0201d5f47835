"""Functions by name or pattern, from BTF and tables of symbols."""

from __future__ import annotations

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher
from stapy.debuginfo.loading import Loaded
from stapy.debuginfo.lookup.aliases import second_names
from stapy.debuginfo.lookup.same_name import common_prototype
from stapy.debuginfo.lookup.wildcards import PADDING, wanted
from stapy.debuginfo.sites import BTF, EXPORTS, SYMBOLS, FunctionSite
from stapy.debuginfo.symbols.clones import clones_of, kinds_of
from stapy.debuginfo.symbols.table import is_function, section_of
from stapy.debuginfo.units import KernelUnits


class Functions:
    """The functions out of line of a kernel and its modules."""

    def __init__(self, units: KernelUnits) -> None:
        self._units = units

    def matching(self, pattern: str, module: str | None) -> list[FunctionSite]:
        """Find functions whose name matches, sorted by module and name."""
        sites: list[FunctionSite] = []
        for name, loaded in self._units.units(module):
            found: list[FunctionSite] = []
            sites += self._units.safe(found, self._matching, pattern, name, loaded)
        return sites

    def named(self, name: str, module: str | None = None) -> FunctionSite | None:
        """Find the function of exactly this name, wherever it lies; None without one."""
        for unit, loaded in self._units.units(module):
            site = self._units.safe(None, self.exact, name, unit, loaded)
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
        """List what the compiler made of a function without a symbol of its own name."""
        rows = clones_of(name, loaded.symbols) if loaded.symbols is not None else []
        found = [self.exact(row, module, loaded) for row in rows]
        return [site for site in found if site is not None]

    def exact(self, name: str, module: str | None, loaded: Loaded) -> FunctionSite | None:
        """Find the function of exactly this name in one kernel or module, or None."""
        kinds = kinds_of(name, loaded.symbols) if loaded.symbols is not None else []
        known = loaded.btf is not None and loaded.btf.has_function(name)
        if loaded.symbols is not None:
            if not is_function(kinds):
                return None
        elif not known:
            exported = module is None and name in self._units.kernel.exports
            return FunctionSite(name, None, None, EXPORTS) if exported else None
        number = loaded.btf.function_number(name) if loaded.btf is not None else None
        if number is None:  # perhaps BTF knows it by another name that it has
            number = dict(second_names(loaded, {name: kinds}, ())).get(name)
        return self._site(name, module, loaded, kinds, number)

    @staticmethod
    def _site(
        name: str, module: str | None, loaded: Loaded, kinds: list[str], number: int | None
    ) -> FunctionSite:
        type: c.FunctionType | None = None
        if loaded.btf is not None and number is not None:
            type = loaded.btf.prototype(number)
        source = BTF if type is not None else SYMBOLS
        namesakes = max(1, sum(1 for kind in kinds if is_function([kind])))
        site = FunctionSite(name, module, type, source, section_of(kinds), namesakes)
        btf = loaded.btf if type is not None else None
        if btf is not None and type is not None and (namesakes > 1 or btf.shares_name(name)):
            site.type, site.ambiguity = common_prototype(
                name, btf.prototypes(name) or [type], namesakes
            )
        return site

"""Functions that have several names: a pattern may match one that BTF does not use.

BTF knows ``__do_sys_getpid``, of which ``__x64_sys_getpid`` and ``__ia32_sys_getpid``
are second names: one function, to be probed once whichever of them match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stapy.debuginfo.loading import Loaded
from stapy.debuginfo.symbols.table import is_function, section_of, shared


def second_names(
    loaded: Loaded, kinds: dict[str, list[str]], known: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield ``(name, number in BTF)`` of functions whose second name alone matches.

    ``kinds`` are the symbols that match, ``known`` those of them that BTF has.
    """
    if loaded.btf is None or loaded.symbols is None:
        return
    groups = {shared(kind) for name in known for kind in kinds.get(name, ())} | {""}
    wanted: dict[str, str] = {}
    for name, rows in kinds.items():
        group = shared(rows[0]) if len(rows) == 1 and "." not in name else ""
        if group not in groups and is_function(rows) and not section_of(rows):
            wanted.setdefault(group, name)
    if not wanted:
        return
    # What shares its address with no function of BTF is the end of a section or a label.
    for name, group in loaded.symbols.sharing(wanted):
        number = loaded.btf.function_number(name) if group in wanted else None
        if number is not None:
            yield wanted.pop(group), number

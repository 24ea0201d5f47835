"""Names that are like a wrong one, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.debuginfo.find import Debuginfo


def symbols(info: Debuginfo, name: str, limit: int) -> list[str]:
    """See `Debuginfo.near_symbols`."""
    from stapy.suggest import nearest

    table = info.loaded.symbols
    if table is None:
        return []
    return nearest(name, (row for row, _ in table.rows("") if _may_be_near(name, row)), limit)


def functions(info: Debuginfo, name: str, limit: int, module: str | None) -> list[str]:
    """See `Debuginfo.near`."""
    from stapy.suggest import nearest

    names = (
        candidate
        for _, loaded in info.units(module)
        if loaded.btf is not None
        for candidate in loaded.btf.functions("*")
        if _may_be_near(name, candidate)
    )
    return nearest(name, names, limit)


def tracepoints(info: Debuginfo, name: str, limit: int) -> list[str]:
    """See `Debuginfo.near_tracepoints`."""
    from stapy.suggest import nearest

    btf = info.loaded.btf
    return nearest(name.rpartition(":")[2], btf.tracepoints() if btf else (), limit)


def types(info: Debuginfo, name: str, limit: int) -> list[str]:
    """See `Debuginfo.near_types`."""
    from stapy.suggest import nearest

    btf = info.loaded.btf
    word, _, tag = name.rpartition(" ")
    letters = {"struct": "s", "union": "u", "enum": "e"}.get(word, "sue")
    names = (row for row in (btf.type_names(letters) if btf else ()))
    tags = {row.rpartition(" ")[2]: row for row in names if _may_be_near(tag, row)}
    return [tags[found] for found in nearest(tag, tags, limit)]


def _may_be_near(name: str, candidate: str) -> bool:
    """A cheap test before the edit distance: similar length, and begin or end in common."""
    candidate = candidate.rpartition(" ")[2]
    if abs(len(candidate) - len(name)) > max(2, len(name) // 3):
        return False
    return candidate[:2] == name[:2] or candidate[-3:] == name[-3:]

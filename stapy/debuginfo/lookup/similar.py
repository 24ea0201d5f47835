"""Names that are like a wrong one, for messages."""

from __future__ import annotations

from stapy.debuginfo.symbols.table import is_function
from stapy.debuginfo.tracepoints.matching import Tracepoints
from stapy.debuginfo.units import KernelUnits
from stapy.diagnostics.suggest import nearest

# What is made for each tracepoint and at each function: nobody means these.
_STUBS = (
    "__pfx_", "__SCT__", "__SCK__", "__probestub_", "__bpf_trace_", "__traceiter_", "perf_trace_",
    "trace_event_raw_event_", "trace_raw_output_", "trace_event_get_offsets_",
)  # fmt: skip


def symbols(units: KernelUnits, name: str, limit: int) -> list[str]:
    """Suggest symbols of data whose names are like a wrong one, at most ``limit``."""
    table = units.loaded.symbols
    if table is None:
        return []
    rows = table.rows("")
    data = (row for row, kind in rows if _may_be_near(name, row) and not is_function([kind]))
    return nearest(name, data, limit)


def functions(units: KernelUnits, name: str, limit: int, module: str | None) -> list[str]:
    """Suggest functions of the kernel or of modules with names like a wrong one."""
    names: set[str] = set()
    for _, loaded in units.units(module):
        if loaded.symbols is not None:  # copies by the compiler, under the names in the source
            names.update(
                row.partition(".")[0]
                for row, kind in loaded.symbols.rows("")
                if _may_be_near(name, row) and is_function([kind])
            )
        elif loaded.btf is not None:
            names.update(row for row in loaded.btf.functions("*") if _may_be_near(name, row))
    return nearest(name, (row for row in names if not row.startswith(_STUBS)), limit)


def tracepoints(units: KernelUnits, points: Tracepoints, name: str, limit: int) -> list[str]:
    """Suggest tracepoints whose names are like a wrong one, at most ``limit``."""
    system, _, name = name.rpartition(":")
    known = points.names()
    if system and name in known:  # only its system is wrong
        return [f"{row.system}:{row.name}" for row in points.matching(name, None) if row.system]
    return nearest(name, known, limit)


def types(units: KernelUnits, name: str, limit: int) -> list[str]:
    """Suggest structs, unions, enums and typedefs whose names are like a wrong one."""
    btf = units.loaded.btf
    word, _, tag = name.rpartition(" ")
    letters = {"struct": "s", "union": "u", "enum": "e"}.get(word, "suet")
    names = (row for row in (btf.type_names(letters) if btf else ()))
    tags = {row.rpartition(" ")[2]: row for row in names if _may_be_near(tag, row)}
    return [tags[found] for found in nearest(tag, tags, limit)]


def enumerators(units: KernelUnits, name: str, limit: int) -> list[str]:
    """Suggest enumeration constants whose names are like a wrong one."""
    btf = units.loaded.btf
    names = btf.enumerators() if btf else ()
    return nearest(name, (row for row in names if _may_be_near(name, row)), limit)


def _may_be_near(name: str, candidate: str) -> bool:
    """Tell cheaply whether two names are worth an edit distance.

    They are of similar length, with begin or end in common.
    """
    if name in candidate and len(name) > 4:
        return True
    if candidate[:2] != name[:2] and candidate[-3:] != name[-3:] and " " not in candidate:
        return "." in candidate and _may_be_near(name, candidate.partition(".")[0])
    candidate = candidate.partition(".")[0].rpartition(" ")[2]
    if abs(len(candidate) - len(name)) > max(2, len(name) // 3):
        return False
    return candidate[:2] == name[:2] or candidate[-3:] == name[-3:]

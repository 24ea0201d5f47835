"""Tables of source lines for scripts that ask for them at run time."""

from __future__ import annotations

from typing import Any

from stapy.ir import program as p
from stapy.paths import is_file
from stapy.translate.c.text import string_literal

FEATURE = "lines"  # /* pragma:lines */ in embedded C


def tables(program: p.Program, services: Any) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Rows for ``templates/lines.c.j2`` and the files that they name.

    Of the kernel, of the modules in the probe points, and of those of ``-d``.
    """
    _check_options(services)
    if FEATURE not in program.features:
        return [], {}
    rows: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for module in wanted(program, services):
        table = services.debuginfo.line_table(module)
        if table is None:
            continue
        number = len(rows)
        name = f"lines_{number}.bin"
        files[name] = table.blob
        fields = [("data", f"stapy_lines_{number}"), ("bytes", str(len(table.blob)))]
        symbols = ""
        if module is None:
            fields += [
                ("start", f"(unsigned long)register_kprobe + ({table.start}L)"),
                ("size", str(table.size)),
            ]
        else:
            symbols = f"line_symbols_{number}.bin"
            files[symbols] = table.symbols
            fields += [
                ("module", string_literal(module)),
                ("symbols", f"stapy_line_symbols_{number}"),
                ("nr_symbols", str(len(table.symbols) // 8)),
            ]
        rows.append(
            {
                "number": str(number),
                "file": name,
                "symbols_file": symbols,
                "fields": [{"name": field, "value": value} for field, value in fields],
            }
        )
    return rows, files


def wanted(program: p.Program, services: Any) -> list[str | None]:
    """The kernel (None) and modules by name, each once."""
    found: dict[str | None, None] = {None: None}  # in order
    for probe in program.probes:
        for site in probe.sites:
            module = getattr(site, "module", None)
            if module:
                found[module.replace("-", "_")] = None
    info = services.debuginfo
    names = list(services.options.debug_modules)
    if services.options.all_modules:
        names += info.loaded_modules()
    for name in names:
        found.update(dict.fromkeys(info.module_names(name) if "/" not in name else ()))
    return list(found)


def _check_options(services: Any) -> None:
    """``-d`` that names nothing is told, but hurts nobody."""
    from pathlib import Path

    for name in services.options.debug_modules:
        if "/" in name:
            if not is_file(Path(name)):
                services.diagnostics.warning("W0681", f"-d {name}: no such file")
        elif name not in ("kernel", "vmlinux") and not services.debuginfo.module_names(name):
            services.diagnostics.warning(
                "W0681", f"-d {name}: no module of this kernel, and no path of a program"
            )

"""Imports inside of functions pay: some run that has the file is spared what they import.

What each start of stapy loads is measured here. An import inside of a function whose module every
one of the runs loads that have its file spares nobody anything, and belongs at the top of the file.
Of files that none of these runs loads (the consumer, the virtual machine, tools) this says nothing.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.kernel.roots import with_headers

ROOT = Path(__file__).resolve().parent.parent
HELLO = 'probe begin { println("hello") exit() }'
READ = 'kernel.function("vfs_read")'
# The second start of each is looked at, when what can be kept has been; it may be kept already, in
# the cache of all tests, for nothing else that is there changes what a start loads.
RUNS = (
    ["--version"],
    ["-p1", "-e", HELLO],
    ["-p2", "-e", f"probe {READ} {{ println(pid()) }}"],
    ["-p2", "-e", 'probe process("/bin/sh").begin { println(pid()) }'],
    ["-p2", "-e", "probe begin { println(nonesuch()) }"],
    ["-p3", "-e", f"probe {READ} {{ println(pid()) }}"],
    ["-p4", "-e", HELLO],
    ["-p4", "--disable-cache", "-e", HELLO],
    ["-l", READ],
    ["-l", READ, "--disable-cache"],
    ["-L", READ, "--disable-cache"],
    ["-l", 'process("/bin/sh").mark("*"),process("/bin/sh").plt("*")', "--disable-cache"],
    ["-l", 'process("libc.so.6").function("mall*")', "--disable-cache"],
)
# What a list of points of programs has no use for: what kernels are made of, other families, and
# what asks programs or tells of mistakes.
NOT_FOR_PROGRAMS = """
    stapy.debuginfo.loading stapy.debuginfo.btf.reader stapy.debuginfo.tracepoints.matching
    stapy.debuginfo.dwarf.read.units stapy.probes.families.kprobe.functions
    stapy.probes.families.timer stapy.diagnostics.habits stapy.elaborate.names.mismatches
    stapy.debuginfo.user.datasymbols subprocess threading
    stapy.debuginfo.dwarf.query.dwarf_file
"""
START = """
import json, os, sys

def tell():
    with open(sys.argv[1], "w") as file:
        json.dump(sorted(sys.modules), file)

leave = os._exit
os._exit = lambda status: (tell(), leave(status))
from stapy.cli import main
try:
    main(sys.argv[2:])
finally:
    tell()
"""
# What spares nobody anything, and stands in a function all the same.
FOR_OTHER_REASONS = {
    ("stapy/parse/__init__.py", "open_library"): "the library parses its files by this package",
    ("stapy/parse/tables.py", "digest"): "ply may be missing, and its tables be kept",
    ("stapy/parse/tables.py", "make_parser"): "the same",
    ("stapy/parse/tables.py", "generate"): "the same; 20 ms where the tables are kept",
}


def loaded(words: list[str], folder: Path) -> set[str]:
    """Run a command; return the modules that it has loaded at its end."""
    told = folder / "told"
    for _ in range(1 if "--disable-cache" in words else 2):
        subprocess.run(
            [sys.executable, "-c", START, str(told), "-r", with_headers()[-1], *words],
            cwd=folder,  # a module is left there
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
    return set(json.loads(told.read_text()))


def inside(node: ast.AST, function: str = "") -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Yield the imports below a node that stand in functions, with the function's name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from inside(child, child.name)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            if function:
                yield function, child
        else:
            yield from inside(child, function)


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Find the modules that an import loads; of the consumer's relative ones none."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if node.level or node.module is None:
        return set()
    place = ROOT / node.module.replace(".", "/")
    below = [name.name for name in node.names if (place / name.name).with_suffix(".py").exists()]
    below += [name.name for name in node.names if (place / name.name / "__init__.py").exists()]
    return {node.module, *(f"{node.module}.{name}" for name in below)}


def name_of(path: Path) -> str:
    """Name the module that a file is."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.build
@pytest.mark.slow
def test_imports_in_functions_pay(tmp_path: Path) -> None:
    runs = [loaded(words, tmp_path) for words in RUNS]
    assert len(runs[0]) < 110 < len(runs[5])
    assert "stapy.elaborate.listing" in runs[9]
    assert not any(name.startswith("stapy.elaborate.lower.") for name in runs[9])
    assert "stapy.probes.families.usdt" in runs[11]
    assert not (runs[11] | runs[12]).intersection(NOT_FOR_PROGRAMS.split())
    found, judged = set(), 0
    for path in sorted((ROOT / "stapy").rglob("*.py")):
        having = [run for run in runs if name_of(path) in run]
        for function, node in inside(ast.parse(path.read_text())):
            judged += bool(having)
            if having and all(imported(node) <= run for run in having):
                found.add((str(path.relative_to(ROOT)), function))
    assert found == set(FOR_OTHER_REASONS)
    assert judged > 100

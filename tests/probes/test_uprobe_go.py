"""Programs of Go: what is refused there, and the names that a stripped one still has."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import run
from tests.probes.uprobe import points, probe

pytestmark = pytest.mark.slow


def test_returns_of_go_programs(folder: Path, tmp_path: Path) -> None:
    """Their stacks move, which the kernel's return probes do not survive; entries are harmless."""
    path = tmp_path / "go"
    command(
        "objcopy", "--add-section", f".gopclntab={folder}/lib.c", f"{folder}/program", str(path)
    )
    result = probe(f'process("{path}").function("work").return')
    assert result.codes == ["E0231"]
    assert "stacks move" in result.diagnostics.items[0].notes[0]
    assert points(probe(f'process("{path}").function("work")'))


@pytest.mark.parametrize("name", ["int_arg", "pointer_arg", "u64_arg", "set_ulonglong_arg"])
def test_arguments_of_go_programs(folder: Path, tmp_path: Path, name: str) -> None:
    """They are not where C has them; registers by name are as they are."""
    path = tmp_path / "go"
    command(
        "objcopy", "--add-section", f".gopclntab={folder}/lib.c", f"{folder}/program", str(path)
    )
    text = f'probe process("{{}}").function("work") {{{{ if (1) {{{{ println({name}(1)) }}}} }}}}'
    if name.startswith("set"):
        text = text.replace("(1)) }", "(1, 2)) }")
    library = {"a.stp": f"function {name}(n) {{ return n }} function {name}(n, m) {{ return n }}"}
    (error,) = run(text.format(path), library).diagnostics.errors
    assert error.code == "E0231" and f"'{name}' reads arguments where C has them" in error.notes[0]
    assert "rax" in error.hint
    assert not run(text.format(folder / "program"), library).diagnostics.errors


def go_table(
    names: list[str], base: int, *, magic: int = 0xFFFFFFF1, pointer: int = 8, count: int = -1
) -> bytes:
    """Build what Go's compiler tells of functions of 16 bytes each."""
    texts = b"".join(name.encode() + b"\0" for name in names)
    rows = 72 + len(texts)
    described = 8 * len(names) + 4
    head = struct.pack(
        "<IBBBB8Q", magic, 0, 0, 1, pointer, count if count >= 0 else len(names), 1, base, 72,
        0, 0, 0, rows,
    )  # fmt: skip
    table = b"".join(
        struct.pack("<II", 16 * at, described + 8 * at) for at in range(len(names))
    ) + struct.pack("<I", 16 * len(names))
    for at, name in enumerate(names):
        table += struct.pack("<Ii", 16 * at, texts.index(name.encode() + b"\0"))
    return head + texts + table


def test_functions_of_stripped_go_programs(folder: Path, tmp_path: Path) -> None:
    """By the table that the runtime of Go needs; a damaged one tells of none."""
    bare, path = tmp_path / "bare", tmp_path / "go"
    command("strip", "-o", str(bare), f"{folder}/program")
    (start,) = [
        int(line.split()[3], 16)
        for line in command("readelf", "-SW", str(bare)).replace("[ ", "[").splitlines()
        if " .text " in line
    ]
    names = ["main.main", "main.(*Shop).Sell", "encoding/json.Marshal"]

    def made(table: bytes) -> Path:
        (tmp_path / "table").write_bytes(table)
        command("objcopy", "--add-section", f".gopclntab={tmp_path}/table", str(bare), str(path))
        return path

    made(go_table(names, start))
    for name in (*names, "main.(*Shop).*"):
        assert points(probe(f'process("{path}").function("{name}")')), name
    (site,) = probe(f'process("{path}").function("{names[1]}")').program.probes[0].sites
    assert site.address == start + 16
    whole = go_table(names, start)
    for damaged in (
        whole[:40], go_table(names, start, magic=0xFFFFFFFB), go_table(names, start, pointer=4),
        go_table(names, start, count=1 << 40), whole[:-4],
    ):  # fmt: skip
        result = probe(f'process("{made(damaged)}").function("{names[2]}")')
        assert result.codes == ["E0231"]

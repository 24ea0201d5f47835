"""A module is run by a program that speaks its language, and by no other."""

from __future__ import annotations

import hashlib
import re
import struct
from pathlib import Path

import pytest

from stapy.run import consumer, control, merge, objects, records
from stapy.run.ground.manifest import PROTOCOL
from stapy.run.options import RunOptions
from tests.run.test_parts import make_module

RUNTIME = Path(__file__).resolve().parents[2] / "docs/runtime.md"


@pytest.mark.parametrize(
    ("told", "said"),
    [({}, "protocol 1"), ({"protocol": PROTOCOL + 1}, f"protocol {PROTOCOL + 1}")],
)
def test_of_another_version(
    told: dict[str, int], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = make_module(tmp_path / "m.ko", manifest={"stapy": "0.9", **told})
    assert consumer.run(str(path), RunOptions()) == 1
    text = capfd.readouterr().err
    assert "was made by another version of stapy (0.9, " + said in text, text
    assert "the stapy-run of that one" in text, text


# What a module and its consumer say to each other, as both sources have it.  When one fails, count
# `PROTOCOL` on, unless only the spelling of the source has changed, and take the new digest.
DIGESTS = {
    "messages": "696150c223df5c5e",
    "reports": "9f88a5844cd5aa0f",
    "commands": "fcb4e0ef72f5e0a4",
    "ioctl": "603936a34c63673d",
    "pieces": "1eb61671d5426428",
    "prints": "8cb242c0cdec7f04",
    "tables": "3c4b0c4c0f4564ab",
}


@pytest.mark.parametrize("part", DIGESTS)
def test_who_changes_the_language_counts_the_protocol_on(part: str) -> None:
    said = parts()[part]
    assert len(said) >= (3 if part != "ioctl" else 1), said
    digest = hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]
    assert (PROTOCOL, digest) == (4, DIGESTS[part]), said


@pytest.mark.parametrize(
    ("file", "name", "layout"),
    [
        ("transport/ring.h", "stapy_piece", records._PIECE),
        ("transport/ring.h", "stapy_bulk", merge._HEADER),
        ("user/objects.c", "head", objects._HEAD),
    ],
)
def test_both_sides_have_the_same_layout(file: str, name: str, layout: struct.Struct) -> None:
    """No bytes stand between members: each is at a multiple of its size, even if packed."""
    letters = "".join(LETTERS[kind] for kind, _ in members(file, name))
    assert layout.format.replace("4s", "I") == f"<{letters}"
    assert struct.calcsize(f"@{letters}") == layout.size
    assert layout.size % 8 == 0


LETTERS = {"u32": "I", "u64": "Q", "s64": "q"}
HOME = RUNTIME.parents[1] / "runtime"


def code(file: str) -> str:
    """Read C without comments and line breaks."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (HOME / file).read_text(), flags=re.S)
    return re.sub(r"\s+", " ", text)


def members(file: str, name: str) -> list[tuple[str, str]]:
    """List types and names of the members of a structure."""
    body = re.search(rf"struct {name} {{ ([^}}]*) }}", code(file))
    assert body is not None, name
    rows = (row.strip().partition(" ") for row in body[1].split(";") if row.strip())
    return [(kind, one.strip()) for kind, _, names in rows for one in names.split(",")]


def layout_of(file: str, name: str) -> list[str]:
    return [f"{kind} {one}" for kind, one in members(file, name)]


def body_of(file: str, function: str) -> str:
    """Read the body of a function, up to the first brace in the first column."""
    text = (HOME / file).read_text()
    found = re.search(rf"^[^\n;]*\b{function}\([^;{{]*\)\n{{.*?^}}", text, re.M | re.S)
    assert found is not None, function
    return found[0]


def parts() -> dict[str, list[str]]:
    """List what is said, part by part."""
    rows = [line.split(" | ")[0] for line in RUNTIME.read_text().splitlines()]
    start = rows.index("| line") + 2
    every = "".join(code(str(path.relative_to(HOME))) for path in sorted(HOME.rglob("*.c")))
    told = re.findall(r'stapy_control\("(\w+)", "((?:[^"\\]|\\.)*)"', every)
    commands = [body_of("transport/files.c", name) for name in ("take_file", "control_write")]
    commands.append(body_of("user/objects.c", "stapy_object_take"))
    words = [word for text in commands for word in re.findall(r'"([^"]+)"', text)]
    prints = re.findall(r"\b((?:stapy_typed|stapy_out|out)_\w+\([^;{]*\));", code("typed.c"))
    order = re.findall(r"o->(\w+) = [^;]*\bpart\(", code("user/objects.c"))
    magics = [re.search(rf"define {name} \w+", code(file)) for file, name in (
        ("transport/ring.h", "STAPY_BULK_MAGIC"), ("transport/ring.h", "STAPY_PIECE_MAGIC"),
        ("user/objects.c", "MAGIC"), ("user/objects.c", "VERSION"))]  # fmt: skip
    spelled = [found[0] for found in magics if found is not None]
    assert len(spelled) == 4
    kinds = re.search(r"enum stapy_print_kind {([^}]*)}", code("transport/ring.h"))
    fetch = re.search(r"define FETCH (\w+)", code("transport/files.c"))
    assert kinds is not None and fetch is not None and int(fetch[1], 16) == control._FETCH
    read = [records._HEAD, records._LONG, records._UNSIGNED, records._COUNT, records._STAT,
            records._BUCKET]  # fmt: skip
    return {
        "messages": rows[start : rows.index("", start)],
        "reports": [f"{kind} {form}" for kind, form in told
                    if kind not in ("error", "warning", "log")],
        "commands": words,
        "ioctl": [fetch[1]],
        "pieces": [*layout_of("transport/ring.h", "stapy_piece"),
                   *layout_of("transport/ring.h", "stapy_bulk"), *spelled[:2]],
        "prints": [kinds[1], *prints,
                   *(one.format for one in read)],
        "tables": [*layout_of("user/objects.c", "head"), *spelled[2:], *order,
                   *layout_of("user/objects.h", "stapy_frame_rule"),
                   *layout_of("user/objects.h", "stapy_object_name")],
    }  # fmt: skip

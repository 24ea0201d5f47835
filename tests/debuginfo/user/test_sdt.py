"""Marks: notes of real programs against readelf, made ones with every form of operand."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user import operand, operands, sdt
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import compiled, run

RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def programs(tmp_path: Path, warnings: list[str]) -> Programs:
    return Programs(Cache(tmp_path / "cache"), warnings.append)


def note(name: str, arguments: str, place: str, semaphore: str = "0", base: str = "1f") -> str:
    return f"""
	.pushsection .note.stapsdt, "", "note"
	.balign 4
	.4byte 992f-991f, 994f-993f, 3
991:	.asciz "stapsdt"
992:	.balign 4
993:	.8byte {place}, _.stapsdt.base{base[2:]}, {semaphore}
	.asciz "ours"
	.asciz "{name}"
	.asciz "{arguments}"
994:	.balign 4
	.popsection
"""


def program(*notes: str) -> str:
    return """
	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak _.stapsdt.base
_.stapsdt.base: .space 1
	.section .probes, "aw", "progbits"
counted: .2byte 0
	.data
value:	.8byte 42
	.text
	.globl main
	.type main, @function
main:	nop
first:	nop
second:	nopw 0x0(%rax,%rax,1)
	ret
third:	ret
	.size main, .-main
	.section .note.GNU-stack,"",@progbits
""" + "".join(notes)


def assembled(folder: Path, text: str, *options: str) -> Path:
    source = folder / "marks.s"
    source.write_text(text)
    run("gcc", str(source), "-o", str(folder / "marks"), *options)
    return folder / "marks"


@pytest.mark.parametrize("style", ["-pie", "-no-pie"])
def test_places_and_semaphores_are_those_of_the_file(
    programs: Programs, tmp_path: Path, style: str
) -> None:
    notes = [
        note("one", "-4@%eax 8@value(%rip)", "first", "counted"),
        note("two__parts", "", "second"),
        note("one", "8@$7", "second"),
    ]
    path = assembled(tmp_path, program(*notes), style)
    file = programs.open(str(path))
    one, two, again = programs.marks(file)
    rows = (line.split() for line in run("nm", str(path)).splitlines())
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    assert (one.provider, one.name, one.address) == ("ours", "one", symbols["first"])
    assert file.address_of(one.offset) == one.address
    assert path.read_bytes()[one.offset] == 0x90
    assert file.address_of(one.semaphore) == symbols["counted"]
    assert (two.name, two.semaphore, two.arguments) == ("two__parts", 0, "")
    found = programs.marks(file)
    assert sdt.matching(found, "one") == [one, again]
    assert sdt.matching(found, "two-parts") == [two]
    assert sdt.matching(found, "two-*", "o*s") == [two]
    assert sdt.matching(found, "[t-u]wo__*") == [two]
    assert not sdt.matching(found, "one", "theirs")
    assert programs.addresses(file, {"value"}) == {"value": symbols["value"]}


def test_prelinked_files_have_their_marks_moved(programs: Programs, tmp_path: Path) -> None:
    """The note tells where its base was; the section, where it is now."""
    path = assembled(tmp_path, program(note("one", "", "first", "counted")), "-no-pie")
    (straight,) = programs.marks(programs.open(str(path)))
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<Q", straight.address), data.index(b"stapsdt\0"))
    words = struct.unpack_from("<QQQ", data, at)
    struct.pack_into("<QQQ", data, at, *(word - 0x1000 for word in words))
    path.write_bytes(data)
    again = Programs(Cache(tmp_path / "cache"), pytest.fail)
    (moved,) = again.marks(again.open(str(path)))
    assert (moved.address, moved.semaphore) == (straight.address, straight.semaphore)


def test_damaged_notes_cost_only_themselves(
    programs: Programs, tmp_path: Path, warnings: list[str]
) -> None:
    notes = [
        note("outside", "", "0x10"),
        note("counter", "", "first", "0x10"),
        note("wrong", "", "third"),
        note("whole", "", "first"),
    ]
    path = assembled(tmp_path, program(*notes), "-no-pie")
    assert [row.name for row in programs.marks(programs.open(str(path)))] == ["whole"]
    assert len(warnings) == 3
    assert "not in the program's code" in warnings[0]
    assert "'wrong' at" in warnings[2]
    assert "is not on an instruction that does nothing" in warnings[2]


def test_a_file_without_marks_has_none(programs: Programs, tmp_path: Path) -> None:
    path = compiled(tmp_path, "int main(void) { return 0; }")
    assert programs.marks(programs.open(str(path))) == []


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("8@%rax", operand.REGISTER, {"base": (RAX, 8, 0), "size": 8}),
        ("-4@%ebp", operand.REGISTER, {"base": (RBP, 4, 0), "size": 4, "is_signed": True}),
        ("2@%r10w", operand.REGISTER, {"base": (10, 2, 0), "size": 2}),
        ("1@%ah", operand.REGISTER, {"base": (RAX, 1, 8), "size": 1}),
        ("-1@%sil", operand.REGISTER, {"base": (RSI, 1, 0)}),
        ("%rdi", operand.REGISTER, {"base": (RDI, 8, 0), "size": 8}),
        ("8f@%xmm1", operand.VECTOR, {"offset": 1, "is_float": True}),
        ("-4@$-1", operand.CONSTANT, {"offset": -1}),
        ("8@$0x1f", operand.CONSTANT, {"offset": 31}),
        ("4@$5+3", operand.CONSTANT, {"offset": 8}),
        ("8@$value+8", operand.ADDRESS, {"offset": 8, "symbols": ((1, "value"),)}),
        ("-4@112(%rsp)", operand.MEMORY, {"offset": 112, "base": (RSP, 8, 0)}),
        ("8@(%rbx)", operand.MEMORY, {"offset": 0, "base": (RBX, 8, 0)}),
        ("8@-8(%rbp)", operand.MEMORY, {"offset": -8, "base": (RBP, 8, 0)}),
        (
            "4@-12(%rdx,%rcx,4)",
            operand.MEMORY,
            {"offset": -12, "base": (RDX, 8, 0), "index": (RCX, 8, 0), "scale": 4},
        ),
        ("8@(%rax, %rsi)", operand.MEMORY, {"index": (RSI, 8, 0), "scale": 1}),
        ("8@16(,%rsi,8)", operand.MEMORY, {"base": None, "index": (RSI, 8, 0), "scale": 8}),
        (
            "8@value(%rip)",
            operand.MEMORY,
            {"base": (operand.PLACE, 8, 0), "symbols": ((1, "value"),)},
        ),
        ("8@8+value-4(%rip)", operand.MEMORY, {"offset": 4, "symbols": ((1, "value"),)}),
        ("8@value+16", operand.MEMORY, {"offset": 16, "symbols": ((1, "value"),), "base": None}),
        ("8@a-b(%rax)", operand.MEMORY, {"symbols": ((1, "a"), (-1, "b"))}),
        ("8@4096", operand.MEMORY, {"offset": 4096, "base": None}),
    ],
)
def test_operands_are_parsed(text: str, kind: str, fields: dict[str, object]) -> None:
    (found,) = operands.operands(text)
    assert found.kind == kind
    assert found.text == text
    for name, value in fields.items():
        have = getattr(found, name)
        if isinstance(have, operand.Register):
            have = (have.number, have.size, have.shift)
        assert have == value, name


@pytest.mark.parametrize(
    "text",
    ["8@%st(0)", "16@%xmm0", "8@%nonsense", "8@%fs:8(%rax)", "8@8(%rip)", "8@(%rax", "8@$", "@",
     "8@value@GOTPCREL(%rip)", "8@(%al)", "8@(%rax,%rsp)", "8@$a b"],
)  # fmt: skip
def test_unknown_operands_are_that_and_nothing_else(text: str) -> None:
    assert operands.operand(text).kind == operand.UNKNOWN


def test_operands_are_told_apart() -> None:
    texts = [
        row.text for row in operands.operands("8@%rax  -4@8(%rdx, %rcx, 4) 8@$value+8\t4@(,%rsi,8)")
    ]
    assert texts == ["8@%rax", "-4@8(%rdx, %rcx, 4)", "8@$value+8", "4@(,%rsi,8)"]


@pytest.mark.parametrize(
    "name",
    [
        "/usr/bin/python3.11",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
    ],
)
def test_marks_of_installed_programs_are_those_of_readelf(programs: Programs, name: str) -> None:
    path = Path(name).resolve()
    if not path.exists() or shutil.which("readelf") is None:
        pytest.skip(f"needs {name} and readelf")
    text = run("readelf", "-nW", str(path))
    rows = re.findall(
        r"Provider: (\S+)\s+Name: (\S+)\s+Location: (0x\w+), Base: (0x\w+), "
        r"Semaphore: (0x\w+)\s+Arguments: ?(.*)",
        text,
    )
    if not rows:
        pytest.skip(f"{name} has no marks here")
    file = programs.open(str(path))
    found = programs.marks(file)
    assert len(found) == len(rows)
    for mark, (provider, word, place, _, semaphore, arguments) in zip(found, rows, strict=True):
        assert (mark.provider, mark.name) == (provider, word)
        assert mark.address == int(place, 16)
        assert mark.arguments == arguments.strip()
        counter = file.address_of(mark.semaphore) if mark.semaphore else 0
        assert counter == int(semaphore, 16)
        assert file.read(mark.address, 1) == b"\x90"
        assert all(row.kind != operand.UNKNOWN for row in operands.operands(mark.arguments))

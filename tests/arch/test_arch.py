"""The records of architectures agree with themselves and with the kernel's documents."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from stapy.arch import (
    ARCHITECTURES,
    ARM64,
    X86_64,
    Architecture,
    architecture,
    architecture_of_debian,
    architecture_of_elf,
    spelling,
)

ROOT = Path(__file__).resolve().parents[2]
EACH = pytest.mark.parametrize("one", ARCHITECTURES.values(), ids=str)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("x86_64", X86_64),
        ("amd64", X86_64),
        ("arm64", ARM64),
        ("aarch64", ARM64),
        ("riscv", None),
        ("", None),
    ],
)
def test_words(word: str, found: Architecture | None) -> None:
    assert architecture(word) is found


@pytest.mark.parametrize(
    ("machine", "word"),
    [
        ("x86_64", "x86_64"),
        ("aarch64", "arm64"),
        ("i686", "i386"),
        ("ppc64le", "powerpc"),
        ("riscv64", "riscv"),
        ("vax", "vax"),
    ],
)
def test_spellings_of_systemtap(machine: str, word: str) -> None:
    assert spelling(machine) == word


def test_releases_and_files_tell_it() -> None:
    assert architecture_of_debian("6.1.0-56-cloud-arm64") is ARM64
    assert architecture_of_debian("6.12.117+deb12-amd64") is X86_64
    assert architecture_of_debian("6.1.0") is None
    assert architecture_of_elf(183) is ARM64
    assert architecture_of_elf(8) is None


@EACH
def test_numbers_name_registers(one: Architecture) -> None:
    for number in (one.stack_pointer, one.frame_pointer, one.program_counter, *one.results):
        assert 0 <= number < len(one.registers)
    if one.link is not None:
        assert one.link < len(one.registers)
    if one.result_address is not None:
        assert one.result_address < len(one.registers)
    assert set(one.arguments) <= set(one.registers)
    assert set(one.syscall_arguments) <= set(one.registers)
    assert len(one.syscall_arguments) == 6
    assert set(one.saved) <= set(one.registers)
    assert len(set(one.registers)) == len(one.registers)
    assert one.vectors[0] >= len(one.registers)


@EACH
def test_each_has_its_runtime_and_its_tapsets(one: Architecture) -> None:
    header = (ROOT / "runtime/arch" / one.name / "machine.h").read_text()
    number = re.search(r"#define STAPY_ARGUMENT_REGISTERS (\d+)", header)
    assert number
    assert int(number[1]) == len(one.arguments)
    assert one.config in (ROOT / "runtime/arch/machine.h").read_text()
    for name in ("registers.stp", "syscall_numbers.stp"):
        assert (ROOT / "tapsets/arch" / one.name / name).is_file()


def _declared(name: str, file: str) -> dict[str, str]:
    """Map what a tapset of an architecture declares to its parameters."""
    text = (ROOT / "tapsets/arch" / name / file).read_text()
    return dict(re.findall(r"^function (\w+(?::\w+)?)\((.*?)\)", text, re.M))


@pytest.mark.parametrize("file", ["registers.stp", "syscall_numbers.stp"])
def test_tapsets_have_the_same_functions(file: str) -> None:
    known = _declared("x86_64", file)
    assert known
    for one in ARCHITECTURES.values():
        assert _declared(one.name, file) == known


@EACH
def test_system_calls_have_one_number(one: Architecture) -> None:
    text = (ROOT / "tapsets/arch" / one.name / "syscall_numbers.stp").read_text()
    rows = re.findall(r'\[(\d+)\] = "(\w+)"', text)
    assert len(rows) > 300
    assert len({number for number, _ in rows}) == len({name for _, name in rows}) == len(rows)


@pytest.mark.parametrize(
    ("one", "number", "name"),
    [(X86_64, 0, "read"), (X86_64, 257, "openat"), (ARM64, 63, "read"), (ARM64, 56, "openat"),
     (ARM64, 172, "getpid"), (ARM64, 220, "clone"), (ARM64, 435, "clone3")],
)  # fmt: skip
def test_known_system_calls(one: Architecture, number: int, name: str) -> None:
    text = (ROOT / "tapsets/arch" / one.name / "syscall_numbers.stp").read_text()
    assert f'[{number}] = "{name}"' in text


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from stapy.arch import host, host_name

    names = os.uname_result(("Linux", "host", "6.1", "#1", "aarch64"))
    monkeypatch.setattr(os, "uname", lambda: names)
    assert host_name() == "arm64"
    assert host() is ARM64

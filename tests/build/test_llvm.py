"""What make is told for a kernel that clang has built, by its configuration and what is here."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from stapy.build.commands import Commands, fill
from stapy.build.kit import _Maker, compile_words
from stapy.build.llvm import LlvmTools
from stapy.build.process import Result
from stapy.kernel.config import Config

if TYPE_CHECKING:
    from pathlib import Path

LLD = "CONFIG_LD_IS_LLD=y\nCONFIG_AS_IS_LLVM=y\n"


def words(folder: Path, text: str) -> dict[str, str]:
    (folder / "config").write_text(f"CONFIG_CC_IS_CLANG=y\n{text}")
    tools = LlvmTools(Config([folder / "config"]), "clang-16")
    assert tools.identity == " ".join(tools.make_words)
    assert tools.make_words[0] == f"CC={tools.clang}"
    return dict(word.split("=", 1) for word in tools.make_words)


@pytest.mark.parametrize(
    ("here", "clang", "linker"),
    [
        ({"clang-16": "16.0.6", "clang": "16.0.6"}, "clang-16", "ld.lld-16"),
        ({"clang": "16.0.6"}, "clang", "ld.lld"),
        # Another version is none: make says which is missing, and stapy how to get it.
        ({"clang": "17.0.1"}, "clang-16", "ld.lld-16"),
        ({}, "clang-16", "ld.lld-16"),
    ],
)
def test_the_version_that_built_the_kernel(
    here: dict[str, str],
    clang: str,
    linker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, version in here.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho 'Debian clang version {version} (1)'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = words(tmp_path, LLD)
    assert (found["CC"], found["LD"]) == (clang, linker)
    assert found["NM"] == f"llvm-nm{clang.removeprefix('clang')}"


@pytest.mark.parametrize(
    ("text", "linker", "assembler"),
    [
        (LLD, "ld.lld-16", "1"),
        ("CONFIG_AS_IS_LLVM=y\n", None, "1"),
        ("", None, "0"),
    ],
)
def test_linker_and_assembler_are_those_of_the_kernel(
    text: str, linker: str | None, assembler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = words(tmp_path, text)
    assert (found.get("LD"), found["LLVM_IAS"]) == (linker, assembler)
    assert ("LLVM" in found) == (linker is not None)
    # A module's objects are code, also where the linker makes that of the kernel.
    assert found["CC_FLAGS_LTO"] == ""


def test_its_precompiled_header_is_looked_for_where_the_kit_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit moves into the cache: clang's header names its files by where they were.

    It has their dates too, unless it is told not to: an installation that is repeated has others.
    """
    called: list[list[str]] = []

    def run(self: _Maker, words: list[str]) -> Result:
        called.append(words)
        return Result(words, 0, "", 0.0)

    monkeypatch.setattr(_Maker, "run", run)
    for compiler, is_told in (("/usr/bin/clang-16", True), ("/usr/bin/gcc-12", False)):
        words = [compiler, "-include", "a.h", "-O2", "-c", "-o", "@OBJECT@", "@SOURCE@"]
        made = Commands(words, [], [], [], [], "", False, b"")
        maker = _Maker.__new__(_Maker)
        maker.commands, maker.folder, maker.runtime = made, tmp_path, tmp_path / "runtime"
        maker.precompile()
        (command,) = called
        called.clear()
        assert command[-1] == str(tmp_path / "prefix.h") and "-include" not in command
        assert command[command.index("-x") + 1] == "c-header"
        assert ("-relocatable-pch" in command) == ("-fno-pch-timestamp" in command) == is_told
        for later in (command, compile_words(made, tmp_path / "moved", tmp_path / "runtime")):
            assert ("-isysroot" in later) == is_told
        if is_told:
            assert later[later.index("-isysroot") + 1] == str(tmp_path / "moved")


def test_clang_takes_a_header_that_was_moved_and_one_with_another_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang = next(filter(None, map(shutil.which, ("clang-16", "clang-19", "clang"))), None)
    if clang is None:
        pytest.skip("needs clang, which is in no package that the tests ask for")

    def run(_: _Maker, words: list[str]) -> Result:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return Result(words, done.returncode, done.stderr, 0.0)

    monkeypatch.setattr(_Maker, "run", run)
    made = Commands(
        [clang, "-O1", "-c", "-o", "@OBJECT@", "@SOURCE@"], [], [], [], [], "", False, b""
    )
    maker = _Maker.__new__(_Maker)
    maker.commands, maker.folder, maker.runtime = made, tmp_path / "kit", tmp_path / "runtime"
    maker.folder.mkdir()
    maker.runtime.mkdir()
    (maker.folder / "prefix.h").write_text('#include "stapy.h"\n')
    (maker.runtime / "stapy.h").write_text("static inline int one(void) { return 1; }\n")
    (maker.runtime / "unit.c").write_text("int two(void) { return one() + 1; }\n")
    maker.precompile()
    maker.folder.rename(tmp_path / "cache")
    os.utime(maker.runtime / "stapy.h", (1, 1))
    words = compile_words(made, tmp_path / "cache", maker.runtime)
    where = {"OBJECT": str(tmp_path / "unit.o"), "SOURCE": str(maker.runtime / "unit.c")}
    done = run(maker, fill(words, **where))
    assert done.status == 0, done.output

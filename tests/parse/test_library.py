"""The tapset library: names, trees and the cache on disk."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

import stapy
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import nodes as n
from stapy.parse.library import Library
from stapy.parse.printer import print_script
from stapy.record import same
from tests.parse.helpers import facts

FILES = {
    "core/a.stp": "global ga\nfunction fa() { return fb(1) }\nprivate function hidden() { }\n"
    "private global secret",
    "core/b.stp": '%( kernel_v >= "6.0" %? function fb(x) { return @twice(x) } %:'
    " function old() { } %)",
    "core/m.stpm": "@define twice(x) %( (@x + @x) %)\n@define other %( 1 %)",
    "alias.stp": 'probe x.open = kernel.function("o") { name = "o" }\n'
    "probe x.close.return = never { }\nprobe y += never { }",
    "arm64/only.stp": "function on_arm() { }",
    "x86_64/only.stp": "function on_x86() { }",
    "5.10/v.stp": "function on_5() { }",
    "6.1/v.stp": "function on_6() { }",
    "bad.stp": "function broken( { }\nfunction fine() { }",
    "calls.table": "read\nwrite",
}


def generate(table: str, given: object) -> dict[str, str]:
    return {
        name: f'probe syscall.{name} = kernel.function("{name}") {{ name = "{name}" }}'
        for name in table.split()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tapsets"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def library(folder: Path, cache: Path | None) -> Library:
    sources = SourceMap()
    return Library([str(folder)], facts(), cache, sources, Diagnostics(sources), generate=generate)


def test_names_are_exact_for_the_kernel(folder: Path) -> None:
    lib = library(folder, None)
    assert sorted(lib.function_names()) == ["broken", "fa", "fb", "fine", "on_6", "on_x86"]
    assert lib.files_with_function("hidden") == []
    assert lib.files_with_function("old") == []
    assert lib.files_with_global("ga") == [str(folder / "core/a.stp")]
    assert lib.files_with_global("secret") == []
    assert lib.files_with_macro("twice") == [str(folder / "core/m.stpm")]
    aliases = {".".join(name) for name, _ in lib.alias_names()}
    assert aliases == {"x.open", "x.close.return", "y", "syscall.read", "syscall.write"}


@pytest.mark.parametrize("cached", [False, True])
def test_trees_are_the_same_with_and_without_a_cache(
    folder: Path, tmp_path: Path, cached: bool
) -> None:
    cache = tmp_path / "cache"
    if cached:
        library(folder, cache).load(str(folder / "core/b.stp"))
    lib = library(folder, cache)
    script = lib.load(str(folder / "core/b.stp"))
    assert script is not None
    assert "return x + x;" in print_script(script)
    function = script.decls[0]
    assert isinstance(function, n.FunctionDecl)
    assert isinstance(function.body, n.Block)
    # A span inside the macro's expansion still leads to its use.
    (stmt,) = function.body.body
    assert isinstance(stmt, n.ReturnStmt)
    assert isinstance(stmt.value, n.Binary)
    source = lib.sources.sources[stmt.value.right.span.source]
    plain = library(folder, None)
    again = plain.load(str(folder / "core/b.stp"))
    assert same(script, again)
    assert source.is_library


def test_generated_files(folder: Path, tmp_path: Path) -> None:
    for _ in range(2):
        lib = library(folder, tmp_path / "cache")
        (path,) = [path for name, path in lib.alias_names() if name == ("syscall", "write")]
        assert path == str(folder / "calls.table") + "#write"
        script = lib.load(path)
        assert script is not None
        assert script.path == path
        assert 'name = "write"' in print_script(script)


def test_a_file_with_errors_is_reported_when_it_is_used(folder: Path, tmp_path: Path) -> None:
    lib = library(folder, tmp_path / "cache")
    assert lib.diagnostics.items == []
    (path,) = lib.files_with_function("fine")
    assert lib.load(path) is None
    assert lib.load(path) is None
    assert [item.code for item in lib.diagnostics.errors] == ["E0105"]


def test_changes_are_seen(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    library(folder, cache)
    path = folder / "core/a.stp"
    path.write_text("function renamed() { }")
    os.utime(path, ns=(1, 1))
    lib = library(folder, cache)
    assert lib.files_with_function("fa") == []
    assert lib.files_with_function("renamed") == [str(path)]
    macros = folder / "core/m.stpm"
    macros.write_text("@define twice(x) %( (@x * 2) %)")
    os.utime(macros, ns=(1, 1))
    script = library(folder, cache).load(str(folder / "core/b.stp"))
    assert script is not None
    assert "x * 2" in print_script(script)


def test_a_damaged_cache_is_rebuilt_silently(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    library(folder, cache).load(str(folder / "core/a.stp"))
    for number, path in enumerate(sorted(cache.iterdir())):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if number % 2 else b"x" + data[1:])
    lib = library(folder, cache)
    assert lib.files_with_function("fa")
    assert lib.load(str(folder / "core/a.stp")) is not None
    assert lib.diagnostics.items == []


def test_a_table_that_cannot_be_read_is_an_error(folder: Path) -> None:
    def fail(text: str, given: object) -> dict[str, str]:
        raise ValueError("line 2: nonsense")

    sources = SourceMap()
    lib = Library([str(folder)], facts(), None, sources, Diagnostics(sources), generate=fail)
    assert [item.code for item in lib.diagnostics.errors] == ["E0171"]


def test_a_macro_file_may_hold_macros_only(folder: Path) -> None:
    (folder / "core/m.stpm").write_text("@define twice(x) %( @x %) probe begin { }")
    lib = library(folder, None)
    assert lib.macro("twice") is not None
    assert [item.code for item in lib.diagnostics.errors] == ["E0170"]


def test_our_own_library_has_no_errors() -> None:
    from stapy.parse.library.folders import library_folders

    sources = SourceMap()
    lib = Library(library_folders([]), facts(), None, sources, Diagnostics(sources))
    for path in lib.files():
        if path.endswith(".stp"):
            lib.load(path)
    assert [item.message for item in lib.diagnostics.items] == []


# SystemTap's public functions about programs, of 4.8's tapset files: stacks, names, registers,
# arguments, memory.
ABOUT_PROGRAMS = """
print_ubacktrace print_ubacktrace_brief print_ubacktrace_fileline print_ustack print_usyms
sprint_ubacktrace sprint_ustack sprint_usyms ubacktrace ucallers ustack uaddr umodname usymdata
usymfile usymfileline usymline usymname uarch_bytes user_mode is_myproc probing_32bit_app
registers_valid register u_register asmlinkage fastcall regparm int_arg uint_arg long_arg ulong_arg
longlong_arg ulonglong_arg pointer_arg s32_arg u32_arg s64_arg u64_arg set_int_arg set_uint_arg
set_long_arg set_longlong_arg set_pointer_arg set_s32_arg set_s64_arg set_u32_arg set_u64_arg
set_ulong_arg set_ulonglong_arg set_user_char set_user_int set_user_long set_user_pointer
set_user_short set_user_string set_user_string_arg set_user_string_n user_buffer_quoted
user_buffer_quoted_error user_char user_char_error user_char_warn user_int user_int_error
user_int_warn user_int8 user_int8_error user_int16 user_int16_error user_int32 user_int32_error
user_int64 user_int64_error user_long user_long_error user_long_warn user_short user_short_error
user_short_warn user_string user_string2 user_string2_n_warn user_string2_utf16 user_string2_utf32
user_string2_warn user_string_n user_string_n2 user_string_n2_quoted user_string_n_nofault
user_string_n_quoted user_string_n_warn user_string_nofault user_string_quoted
user_string_quoted_utf16 user_string_quoted_utf32 user_string_utf16 user_string_utf32
user_string_warn user_uint8 user_uint8_error user_uint16 user_uint16_error user_uint32
user_uint32_error user_uint64 user_uint64_error user_ulong user_ulong_error user_ulong_warn
user_ushort user_ushort_error user_ushort_warn
"""


def test_functions_about_programs_are_all_there() -> None:
    lib = library(Path(stapy.__file__).parent.parent / "tapsets", None)
    assert not lib.diagnostics.errors
    missing = set(ABOUT_PROGRAMS.split()) - set(lib.function_names())
    assert not missing


def test_what_reads_the_language_is_part_of_the_key() -> None:
    """Trees of a parser that has changed since are not taken from the cache."""
    from stapy.parse.library.library import _SHAPE

    home = Path(stapy.__file__).parent / "parse"
    named = {str(Path(path).relative_to(home)) for path, *_ in ast.literal_eval(_SHAPE)}
    assert named == {str(path.relative_to(home)) for path in home.rglob("*.py")}
    assert {"actions.py", "library/syscalls.py", "rules/statements.py"} <= named


def test_tapsets_of_single_programs(tmp_path: Path) -> None:
    """What lies in tapset/PATH/usr/bin means programs of /usr/bin, also when it is cached."""
    folder = tmp_path / "tapset"
    inner = folder / "PATH/usr/bin"
    (inner / "6.1").mkdir(parents=True)
    (inner / "x.stp").write_text(
        """probe x.began = process("x").begin, process("x-*").begin ?, process.end,
        process("/opt/x").mark("m") ?, process("x").library("libx.so").function("f") ? { }
        probe x.built = process("0123456789012345678901234567890123456789").begin { }"""
    )
    (inner / "6.1/y.stp").write_text('probe y = process("y").begin { }')
    (folder / "z.stp").write_text('probe z = process("z").begin { }')
    expected = {
        "x": ["/usr/bin/x", "/usr/bin/x-*", "/opt/x", "/usr/bin/x", "0123456789" * 4],
        "y": ["/usr/bin/6.1/y"],
        "z": ["z"],
    }
    for _ in range(2):
        lib = library(folder, tmp_path / "cache")
        found: dict[str, list[str]] = {}
        for name, path in dict.fromkeys(lib.alias_names()):
            script = lib.load(path)
            assert script is not None
            found[name[0]] = re.findall(r'process\("(.*?)"\)', print_script(script))
        assert found == expected

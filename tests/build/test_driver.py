"""Pass 4 on every installed kernel, by the kit and by kbuild."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from stapy.build import process
from stapy.build.compile import LARGE
from stapy.build.messages import Reporter
from stapy.build.modpost import modinfo
from stapy.cache import Cache
from stapy.debuginfo.elf import ElfFile
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.run.elf import ModuleFile
from tests.build import small
from tests.build.conftest import Builder, installed
from tests.program import run_stapy

pytestmark = pytest.mark.build


def versions(path: Path) -> dict[str, int]:
    data = ElfFile.open(path).read("__versions") or b""
    rows = struct.iter_unpack("<Q56s", data)
    return {name.rstrip(b"\0").decode(): crc for crc, name in rows}


def info(path: Path) -> dict[str, str]:
    return dict(modinfo(ElfFile.open(path)))


def test_kit_module_is_complete(builder: Builder, kernel: small.Kernel) -> None:
    module = builder().made
    assert module.origin == "kit"
    assert module.path.name == "stapy_small.ko"
    elf = ElfFile.open(module.path)
    assert elf.section(".gnu.linkonce.this_module") is not None
    assert elf.section(".orc_unwind") is not None, "objtool did not run"
    facts = info(module.path)
    assert facts["vermagic"].startswith(kernel.release + " ")
    assert facts["license"] == "GPL"
    assert facts["name"] == "stapy_small"
    assert facts["depends"] == ""
    assert facts["stapy"] == module.key[:16]
    assert "intree" not in facts
    assert b"stapy_small\0" in (elf.read(".gnu.linkonce.this_module") or b"")
    assert ModuleFile(str(module.path)).manifest() == module.manifest


def test_only_needed_members_are_linked(builder: Builder) -> None:
    names = {s.name for s in ElfFile.open(builder().made.path).symbols()}
    assert "stapy_helper" in names
    assert "stapy_unused" not in names


def test_kit_and_kbuild_agree(builder: Builder) -> None:
    short = builder().made
    long = builder(kbuild_flags=["V=0"]).made
    assert long.origin == "kbuild"
    for name, crc in versions(short.path).items():
        assert versions(long.path)[name] == crc, name
    assert len(versions(short.path)) >= 3
    same = ("vermagic", "license", "depends", "retpoline", "name")
    ours, theirs = info(short.path), info(long.path)
    assert {n: ours.get(n) for n in same} == {n: theirs.get(n) for n in same}
    assert ModuleFile(str(long.path)).manifest() == ModuleFile(str(short.path)).manifest()
    wanted = {s.name for s in ElfFile.open(long.path).sections if s.flags & 2}
    have = {s.name for s in ElfFile.open(short.path).sections if s.flags & 2}
    assert wanted - have <= {".altinstructions", ".rodata.str1.8"}, "a section is missing"


def test_environment_can_ask_for_kbuild(newest: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAPY_BUILD", "kbuild")
    assert newest().made.origin == "kbuild"


def test_flags_of_the_environment_have_a_kit_of_their_own(
    newest: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = small.source(small.SCRIPT + "#if MINE != 7\n#error not mine\n#endif\n")
    monkeypatch.setenv("KCFLAGS", "-DMINE=7")
    assert newest(source).made.origin == "kit"
    monkeypatch.delenv("KCFLAGS")
    assert newest(source).module is None


def test_second_time_comes_from_the_cache(builder: Builder) -> None:
    source = small.source(small.SCRIPT + "/* cached */\n")
    first = builder(source).made
    second = builder(source).made
    assert (first.origin, second.origin) == ("kit", "cache")
    assert first.path != second.path
    assert first.path.read_bytes() == second.path.read_bytes()


def test_equal_sources_give_equal_modules(newest: Builder, cache: Cache) -> None:
    poisoned = Cache(cache.root)
    first = newest().made
    poisoned.is_enabled = False
    again = newest(cache=poisoned).made
    assert again.origin == "kit"
    assert first.path.read_bytes() == again.path.read_bytes()


def test_several_files_and_defines(newest: Builder) -> None:
    source = small.source(
        '#include "stapy.h"\n#include "more.h"\nstatic int start(void)\n{\n'
        "\treturn more(NUMBER);\n}\n"
        "struct stapy_session stapy_session = { .name = TEXT, .init = start };\n"
    )
    source.files["more.h"] = "int more(int);\n"
    source.files["more.c"] = (
        '#include "stapy.h"\n#include "more.h"\nint more(int x)\n{\n\treturn stapy_helper(x);\n}\n'
    )
    source.defines = {"NUMBER": "7", "TEXT": '"a b"'}
    assert b"a b\0" in newest(source).made.path.read_bytes()
    long = newest(source, kbuild_flags=["V=0"])
    assert b"a b\0" in long.made.path.read_bytes()


def test_large_scripts_are_compiled_with_less_care(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_many = process.run_many
    compiled: list[list[str]] = []

    def note(commands: list[list[str]], *others: Any) -> list[process.Result]:
        compiled.extend(words for words in commands if words[-1].endswith("stapy-unit.c"))
        return run_many(commands, *others)

    monkeypatch.setattr(process, "run_many", note)
    for remark in ("short", "long" * LARGE):
        assert builder(small.source(f"{small.SCRIPT}/* {remark} */\n")).made.origin == "kit"
    options = ("-O2", "-O1", "-fno-tree-pta")
    assert [[word for word in options if word in words] for words in compiled] == [
        ["-O2"],
        ["-O1", "-fno-tree-pta"],
    ]


# --- refusals ------------------------------------------------------------


def test_error_in_embedded_c_points_into_the_script(builder: Builder) -> None:
    sources = SourceMap()
    sources.add("bad.stp", "probe begin {}\n%{\nint f(void) { return undeclared_thing; }\n%}\n")
    text = small.SCRIPT + '#line 3 "bad.stp"\nint f(void) { return undeclared_thing; }\n'
    run = builder(small.source(text), sources=sources)
    assert run.module is None
    assert run.codes[0] == "E0404"
    first = run.diagnostics.errors[0]
    assert sources.position(first.span)[:2] == ("bad.stp", 3)
    assert sources.text(first.span) == "undeclared_thing"
    assert "undeclared" in first.message


# Scripts with one line of wrong C, whose wrong place has a mark in front: no name tells it.
ON_ONE_LINE = {
    "statement": "probe begin { println(1) %{ int q = 1 +^; %} println(2) }",
    "expression": "probe begin { x = 1 + %{ /* pure */ (1 + ^) %}; println(x) }",
    "function": "\tfunction f:long() %{\tif (1) ^} %} probe begin { println(f()) }",
    "second of two": "probe begin { %{ int a; %} println(1) %{ int b = 1 ^b; %} }",
    "second line": "probe begin { %{ int a;\n\tint b = a +^; %} }",
    "top level": "%{ int later(^; %} probe begin { println(1) }",
}


@pytest.mark.parametrize("name", ON_ONE_LINE)
def test_caret_of_embedded_c_within_a_line(name: str, tmp_path: Path) -> None:
    """In a file, which the compiler reads as well, and in a text of the command line."""
    kernel = installed()[-1]
    before, _, after = ON_ONE_LINE[name].partition("^")
    (tmp_path / "x.stp").write_text(before + after)
    words = ("-g", "-p4", "-r", kernel.release, "--message-format=short")
    # A tab is one character of a line.
    place = f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    for given in ([tmp_path / "x.stp"], ["-e", before + after]):
        said = run_stapy(*words, *given).stderr
        assert f"{place}: build error: embedded C: expected" in said, (place, said)


def test_error_in_generated_c_is_our_mistake(builder: Builder) -> None:
    sources = SourceMap()
    sources.add("bad.stp", "probe begin {\n  x = 1\n}\n")
    text = small.SCRIPT + "int f(void)\n{\n\t/* bad.stp:2 */\n\treturn nonsense;\n}\n"
    run = builder(small.source(text), sources=sources)
    assert run.codes == ["E0406"]
    assert sources.position(run.diagnostics.errors[0].span)[:2] == ("bad.stp", 2)
    log = Path(run.diagnostics.errors[0].notes[-1].rpartition(" ")[2])
    assert "nonsense" in log.read_text()


@pytest.mark.parametrize("flags", [[], ["V=0"]], ids=["kit", "kbuild"])
def test_symbol_that_nobody_exports(builder: Builder, flags: list[str]) -> None:
    sources = SourceMap()
    sources.add("bad.stp", "%{\nvoid no_such_export(void);\n%}\n")
    text = small.SCRIPT.replace(
        "return stapy_helper(42);",
        'extern int no_such_export(void);\n#line 2 "bad.stp"\nreturn no_such_export();',
    )
    run = builder(small.source(text), sources=sources, kbuild_flags=flags)
    assert run.codes == ["E0407"]
    assert "no_such_export" in run.diagnostics.errors[0].message
    assert sources.position(run.diagnostics.errors[0].span)[:2] == ("bad.stp", 2)


def test_no_headers(newest: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stapy.build.messages.with_headers", lambda: ["6.1.0-9", "6.12.1+deb12"])
    run = newest(kernel=small.Kernel("9.9.9", "x86_64", tmp_path))
    assert run.codes == ["E0401"]
    assert "linux-headers-9.9.9" in run.diagnostics.errors[0].hint
    assert "if there are any" not in run.diagnostics.errors[0].hint
    hint = run.diagnostics.errors[0].hint
    assert hint.endswith(
        "; -r 6.12 makes the module for kernel 6.12.1+deb12, whose headers are here"
    )
    assert "there are headers of 6.1.0-9, 6.12.1+deb12" in run.diagnostics.errors[0].notes
    assert newest(kernel=small.Kernel("9.9.9", "x86_64", None)).codes == ["E0401"]


def test_no_headers_for_the_kernel_of_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other kernel will do, and -r does not go with --remote."""
    monkeypatch.setattr("stapy.build.messages.with_headers", lambda: ["6.1.0-9"])
    diagnostics = Diagnostics(SourceMap())
    Reporter(diagnostics, "9.9.9", small.source()).no_headers(None, is_elsewhere=True)
    (error,) = diagnostics.errors
    assert "linux-headers-9.9.9" in error.hint and "-r " not in error.hint
    assert error.notes[-1] == "modules for other hosts are made here"


def test_missing_programs(newest: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = newest(cache=Cache(tmp_path / "cache"))
    assert run.codes == ["E0402"]
    assert run.diagnostics.errors[0].hint == "apt-get install make"


@pytest.mark.parametrize(
    ("program", "image", "lacks", "hint"),
    [
        ("x86_64-linux-gnu-gcc-14", "", False, "apt-get install gcc-14"),
        (
            "x86_64-linux-gnu-gcc-14",
            "",
            True,
            "apt has no gcc-14, a container can: stapy --build-in",
        ),
        ("make", "", True, "apt-get install make"),
        ("gcc-14", "mine:1", False, "the image mine:1 must have it"),
    ],
)
def test_where_a_missing_program_is_found(
    monkeypatch: pytest.MonkeyPatch, program: str, image: str, lacks: bool, hint: str
) -> None:
    from stapy.build.messages import Reporter

    monkeypatch.setattr("stapy.build.messages.lacks", lambda package: lacks)
    diagnostics = Diagnostics(SourceMap())
    Reporter(diagnostics, "9.9", small.source(), image).no_program(program)
    assert diagnostics.errors[0].hint.startswith(hint)


def test_runtime_file_that_a_kernel_refuses(newest: Builder, tmp_path: Path) -> None:
    broken = '#include "stapy.h"\nint stapy_unused(int x)\n{\n\treturn not_there(x);\n}\n'
    runtime = small.write_runtime(tmp_path / "runtime", unused=broken)
    assert newest(runtime=runtime).made.origin == "kit", "nobody needs that file"
    needs = small.source(small.SCRIPT.replace("stapy_helper", "stapy_unused"))
    run = newest(needs, runtime=runtime)
    assert run.codes == ["E0405"]
    assert "(family unused)" in run.diagnostics.errors[0].message


def test_refused_file_leaves_its_unit_alone(newest: Builder, tmp_path: Path) -> None:
    runtime = small.write_runtime(tmp_path / "runtime")
    (runtime / "report.c").write_text("#error not on this kernel\n")  # of one unit with session.c
    cache = Cache(tmp_path / "cache")
    made = newest(runtime=runtime, cache=cache).made
    assert made.origin == "kit"
    symbols = {s.name for s in ElfFile.open(made.path).symbols()}
    assert {"stapy_session", "stapy_helper"} <= symbols


@pytest.mark.parametrize("flags", [[], ["V=0"]])
def test_header_that_a_kernel_refuses(newest: Builder, tmp_path: Path, flags: list[str]) -> None:
    runtime = small.write_runtime(tmp_path / "runtime", stapy="#error old kernel\n")
    run = newest(runtime=runtime, kbuild_flags=flags)
    assert run.codes == ["E0405"]


# --- the kit -------------------------------------------------------------


def test_kit_is_made_once(
    newest: Builder,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stapy.terminal.progress.on_terminal", lambda: True)
    cache = Cache(tmp_path / "cache")
    newest(cache=cache)
    assert capfd.readouterr().err.count("making the build kit") == 1
    newest(small.source(name="stapy_other"), cache=cache)
    assert "making the build kit" not in capfd.readouterr().err


def test_damaged_kit_is_made_again(newest: Builder, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    newest(cache=cache)
    (kit,) = (tmp_path / "cache" / "kit").glob("*/*/kit.json")
    kit.write_text("{")
    assert newest(small.source(name="stapy_other"), cache=cache).made.origin == "kit"


def test_disabled_cache_leaves_nothing(newest: Builder, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", is_enabled=False)
    assert newest(cache=cache).made.origin == "kit"
    assert not (tmp_path / "cache").exists()


def test_keep_leaves_a_tree_that_make_can_build(builder: Builder) -> None:
    from stapy.build.process import run

    module = builder(keep=True).made
    tree = module.path.parent / "stapy_small"
    done = run(["make", "-C", str(tree)])
    assert done.status == 0, done.output
    assert ModuleFile(str(tree / "stapy_small.ko")).manifest() == module.manifest

"""Which tables of source lines travel in a module."""

from __future__ import annotations

import pytest

from stapy.debuginfo.lookup.line_pack import LineTable
from tests.elaborate.support import FakeDebuginfo
from tests.translate.support import options_of, program_of, translated

ASKS = "function f:string(x) %{ /* pure */ /* pragma:lines */ %} probe begin { println(f(1)) }"
IN_EXT = ASKS.replace("begin", 'module("ext").function("ext_read")')


class WithLines(FakeDebuginfo):
    """Tables of the kernel and of two modules, of which one is loaded."""

    def line_table(self, module: str | None = None) -> LineTable | None:
        if module not in (None, "ext", "other"):
            return None
        return LineTable(module, -64, 128, b"blob" + (module or "").encode(), b"8 bytes.")

    def module_names(self, pattern: str) -> list[str]:
        return [name for name in ("ext", "other", "bare") if name == pattern]

    def loaded_modules(self) -> list[str]:
        return ["other", "bare", "stranger"]


@pytest.mark.parametrize(
    ("text", "args", "modules", "warnings"),
    [
        ("probe begin { println(1) }", "-d ext --all-modules", None, []),
        (ASKS, "", [], []),
        (IN_EXT, "", ["ext"], []),
        (ASKS, "-d ext", ["ext"], []),
        (ASKS, "-d kernel -d bare", [], []),
        (ASKS, "--all-modules --ldd", ["other"], []),
        (IN_EXT, "--all-modules -d ext", ["ext", "other"], []),
        (ASKS, "-d wrong", [], ["W0681"]),
        (ASKS, "-d /no/such/program", [], ["W0681"]),
        (ASKS, "-d /bin/sh", [], []),
    ],
)
def test_tables(text: str, args: str, modules: list[str] | None, warnings: list[str]) -> None:
    program, services = program_of(text, options=options_of("-g " + args))
    services.debuginfo = WithLines()
    source = translated(program, services, "test")
    c_text = source.files["test.c"]
    assert [item.code for item in services.diagnostics.items if item.code == "W0681"] == warnings
    if modules is None:
        assert not source.blobs
        assert "line_tables" not in c_text
        return
    tables = [data for name, data in source.blobs.items() if name.startswith("lines_")]
    assert tables == [b"blob", *(b"blob" + name.encode() for name in modules)]
    assert all(f'.incbin \\"{name}\\"' in c_text for name in source.blobs)
    assert [name for name in modules if f'.module = "{name}"' not in c_text] == []
    assert ".start = (unsigned long)register_kprobe + (-64L)" in c_text


def test_without_debug_information() -> None:
    program, services = program_of(ASKS, options=options_of("-g"))
    services.debuginfo = WithLines()
    services.debuginfo.line_table = lambda module=None: None
    source = translated(program, services, "test")
    assert not source.blobs
    assert "line_tables" not in source.files["test.c"]


def test_a_program_by_its_name_alone_is_shown_with_its_path() -> None:
    program, services = program_of(ASKS, options=options_of("-g -d sh -d no-such-program"))
    services.debuginfo = WithLines()
    translated(program, services, "test")
    found = [item for item in services.diagnostics.items if item.code == "W0681"]
    assert [bool(item.hint) for item in found] == [True, False]
    path = found[0].hint.split()[1]
    assert path.startswith("/") and path.endswith("sh")

"""Files of procfs probes: rows, `$value`, and what is refused in SystemTap's words."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.translate.sites import c_value
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows

SET, GET = '$value = "x"', "println($value)"


def probe(point: str, body: str, **options: Any) -> Result:
    return run(f"probe {point} {{ {body} }}", **options)


@pytest.mark.parametrize(
    ("point", "path", "mode", "bytes"),
    [
        ("procfs.read", "command", "0400", None),
        ("procfs.read.maxsize(10)", "command", "0400", 10),
        ("procfs.umask(32).read", "command", "0404", None),
        ("procfs.umask(0).read.maxsize(1)", "command", "0444", 1),
        ('procfs("a/b c").read', "a/b c", "0400", None),
        ('procfs("a*").umask(511).read', "a*", "0400", None),
        ('procfs("STAPY_BEGIN").read', "STAPY_BEGIN", "0400", None),
        ("procfs.write", "command", "0200", None),
        ("procfs.umask(-1).write", "command", "0200", None),
        ('procfs("x").umask(0).write', "x", "0222", None),
    ],
)
def test_row(point: str, path: str, mode: str, bytes: int | None) -> None:
    is_read = ".read" in point
    row = {"point": point, "path": path, "mode": mode, "is_read": is_read, "bytes": bytes}
    found = rows(f"probe {point} {{ {SET if is_read else GET} }}", "procfs")
    assert found == [row]
    # A name is text in the C of the module, whatever it looks like; a mode is none.
    assert c_value(found[0]["path"]) == f'"{path}"'
    assert c_value(found[0]["mode"]) == mode


def test_a_file_of_both_directions() -> None:
    assert run(f"probe procfs.read {{ {SET} }} probe procfs.write {{ {GET} }}").codes == []


def test_standard_input_has_any_number_of_readers() -> None:
    probes = [f'probe procfs("__stdin").write {{ {GET} }}'] * 3
    assert run(" ".join(probes)).codes == []
    assert run(f'probe procfs("__stdin").read, procfs("__stdin").read {{ {SET} }}').codes == [
        "E0263"
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/x", "procfs path cannot start with a '/'"),
        ("", "procfs path cannot end with a '/'"),
        ("a/", "procfs path cannot end with a '/'"),
        ("a//b", "procfs path component cannot be empty"),
        (r"a\0b", "procfs path cannot contain NUL"),
        (r"\0", "procfs path cannot contain NUL"),
        (".", "procfs path cannot be relative (and contain '.' or '..')"),
        ("a/../b", "procfs path cannot be relative (and contain '.' or '..')"),
        ("a/" + "b" * 256, "procfs path component cannot be longer than 255 bytes"),
        ("ä" * 128, "procfs path component cannot be longer than 255 bytes"),
    ],
)
def test_refused_path(path: str, message: str) -> None:
    result = probe(f'procfs("{path}").read', SET)
    assert result.codes == ["E0263"]
    assert result.diagnostics.items[0].message == message


@pytest.mark.parametrize("size", [0, -1, (1 << 30) + 1])
def test_refused_size(size: int) -> None:
    assert probe(f"procfs.read.maxsize({size})", SET).codes == ["E0212"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            f'probe procfs("a").read {{ {SET} }} probe procfs("a").umask(1).read {{ {SET} }}',
            'only one read procfs probe can exist for procfs path "a"',
        ),
        (
            f"probe procfs.write {{ {GET} }} probe procfs.write {{ {GET} }}",
            'only one write procfs probe can exist for procfs path "command"',
        ),
        (
            f'probe procfs("a").read, procfs("a").read.maxsize(9) {{ {SET} }}',
            'only one read procfs probe can exist for procfs path "a"',
        ),
        (
            f"probe twice = procfs.write {{ {GET} }} probe twice, twice {{ println(1) }}",
            'only one write procfs probe can exist for procfs path "command"',
        ),
        (
            f'probe procfs("a").read {{ {SET} }} probe procfs("a/b").write {{ {GET} }}',
            'procfs path "a" cannot be a file and a folder',
        ),
    ],
)
def test_refused_together(script: str, message: str) -> None:
    result = run(script)
    assert result.codes == ["E0263"]
    assert result.diagnostics.items[0].message == message


_SETS = "Only the following assign operators are implemented on procfs read target variables"


@pytest.mark.parametrize(
    ("way", "body", "code", "message"),
    [
        ("read", GET, "E0264", "procfs $value variable cannot be read in a procfs read probe"),
        ("write", SET, "E0264", "procfs $value variable is read-only in a procfs write probe"),
        ("read", "$value++", "E0264", f"{_SETS}: '=', '.='"),
        ("read", '$valu = "x"', "E0241",
         "invalid target symbol for procfs probe, $value expected"),
        ("read", "$value += 1", "E0264", f"{_SETS}: '=', '.='"),
        ("write", "println($valu)", "E0241",
         "invalid target symbol for procfs probe, $value expected"),
        ("write", "println($$vars)", "E0241",
         "invalid target symbol for procfs probe, $value expected"),
        ("write", "println($value->x)", "E0264",
         "procfs variable '$value' may not be used as a structure"),
        ("read", '$value[0] = "x"', "E0264", "procfs variable '$value' may not be used as array"),
        ("write", "println($value$)", "E0264",
         "procfs variable '$value' may not be pretty-printed"),
        ("write", "println(&$value)", "E0264", "cannot take address of procfs variable"),
    ],
)  # fmt: skip
def test_refused_value(way: str, body: str, code: str, message: str) -> None:
    result = probe(f"procfs.{way}", body)
    assert (result.codes[0], result.diagnostics.items[0].message) == (code, message)


def test_value_is_text() -> None:
    assert probe("procfs.read", "$value = 1").codes == ["E0301"]
    assert probe("procfs.read", '$value = "a"; x = ($value .= "b") println(x)').codes == []
    assert probe("procfs.write", "println(@defined($value), @defined($x))").codes == []


def test_not_for_unprivileged_users() -> None:
    assert probe("procfs.read", SET, privilege="stapusr").codes
    assert probe("procfs.read", SET, privilege="stapsys").codes == []

"""BPF programs: rows, variables, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.kernel import bpf as running
from stapy.kernel.target import Kernel
from stapy.probes.families import by_name
from stapy.probes.families.bpf import TYPES
from tests.elaborate.support import run
from tests.probes.test_begin_end import rows

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"


def row(point: str, **fields: Any) -> dict[str, Any]:
    """Make a row of the table, with what a point without more in it has."""
    nothing = {"program": None, "id": 0, "type": 0, "function": None, "optional": False}
    return {"point": point, **nothing, "is_return": False, "slot_bytes": 0, **fields}


@pytest.mark.parametrize(
    ("point", "fields"),
    [
        ('bpf.program("xdp_drop")', {"program": "xdp_drop"}),
        ('bpf.program("x*").return', {"program": "x*", "is_return": True}),
        ("bpf.program(12)", {"id": 12}),
        ('bpf.program("*").type("xdp")', {"program": "*", "type": 6}),
        ('bpf.program(7).type("netfilter").return', {"id": 7, "type": 32, "is_return": True}),
        ('bpf.program("a").function("sub_?")', {"program": "a", "function": "sub_?"}),
        (
            'bpf.program("a").type("kprobe").function("*").return',
            {"program": "a", "type": 2, "function": "*", "is_return": True},
        ),
    ],
)
def test_row(point: str, fields: dict[str, Any]) -> None:
    assert rows(f"probe {point} {{ println(1) }}", "bpf") == [row(point, **fields)]
    text = f"probe {point}? {{ println(1) }}"
    assert rows(text, "bpf") == [row(point, **fields, optional=True)]


@pytest.mark.parametrize(
    ("point", "code", "text"),
    [
        ("bpf.program(0)", "E0212", "number of a BPF program out of range"),
        ("bpf.program(0x100000000)", "E0212", "number of a BPF program out of range"),
        ('bpf.program("a").type("xpd")', "E0231", "no match"),
        ('bpf.program("a").type("unspec")', "E0231", "no match"),
        ("bpf.program", "E0230", "no probe point matches"),
        ('bpf.program("a").function(1)', "E0230", "no probe point matches"),
        ('bpf.program("a").exit', "E0230", "no probe point matches"),
    ],
)
def test_refused(point: str, code: str, text: str) -> None:
    result = run(f"probe {point} {{ println(1) }}")
    assert result.codes == [code]
    assert text in result.diagnostics.items[0].message


def test_the_nearest_type_is_told() -> None:
    result = run('probe bpf.program("a").type("xpd") { println(1) }')
    assert result.diagnostics.items[0].hint == "did you mean 'xdp'?"


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ('bpf.program("a")', "$ctx"),
        ('bpf.program("a").return', "$ctx $return"),
        ("bpf.program(1)" + '.function("*")', "$arg1 $arg2 $arg3 $arg4 $arg5"),
        ("bpf.program(1)" + '.function("*").return', "$arg1 $arg2 $arg3 $arg4 $arg5 $return"),
    ],
)
def test_variables(point: str, names: str) -> None:
    """All are known at a return without the entry's help."""
    each = " ".join(f"println({name})" for name in names.split())
    result = run(f"probe {point} {{ {each} }}")
    assert result.program is not None, result.shown()
    probe = result.program.probes[0]
    scope = by_name("bpf").scope(probe.sites[0], result.services)
    assert scope is not None
    assert list(scope.variables) == names.split()
    assert probe.entry is None


@pytest.mark.parametrize("name", ["$return", "$skb", "$arg1"])
def test_unknown_variables(name: str) -> None:
    result = run(f'probe bpf.program("a") {{ println({name}) }}')
    assert result.codes == ["E0241"]


def test_types_are_those_of_the_kernel() -> None:
    """Their numbers are positions in the kernel's enumeration; the runtime has the same words."""
    names = list(TYPES)
    assert [names.index(n) for n in ("kprobe", "xdp", "tracing", "lsm", "netfilter")] == [
        *(2, 6, 26, 29, 32)
    ]
    text = (RUNTIME / "probes" / "bpfnames.c").read_text()
    table = text.partition("types[] = {")[2].partition("}")[0]
    assert [word.strip('" \n\t') for word in table.split(",")][:-1] == names


def test_only_the_running_kernel_is_asked() -> None:
    other = Kernel("0.0.0", (0,), "x86_64", False, None, None, None, None, None, None, None)  # type: ignore[arg-type]
    with pytest.raises(running.BpfError, match=r"not those of 0\.0\.0"):
        running.running(other, list(TYPES))


def test_names_by_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's symbols have the names that it cuts elsewhere."""
    text = (
        "ffffffffc0000000 t bpf_prog_0123456789abcdef_a_name_of_many_letters\t[bpf]\n"
        "ffffffffc0001000 t bpf_prog_0123456789abcdee\t[bpf]\n"
        "ffffffff81000000 T bpf_prog_put\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert running._symbols() == {"0123456789abcdef": "a_name_of_many_letters"}

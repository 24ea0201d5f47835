"""Watched data: rows, and what is refused."""

from __future__ import annotations

import pytest

from tests.elaborate.support import run
from tests.probes.test_begin_end import rows


@pytest.mark.parametrize(
    ("point", "symbol", "address", "length", "reads"),
    [
        ("kernel.data(0xffffffff81000003).write", None, 0xFFFFFFFF81000003, 1, False),
        ("kernel.data(0xffffffff81000000).rw", None, 0xFFFFFFFF81000000, 1, True),
        ("kernel.data(0xffffffff81000004).length(4).write", None, 0xFFFFFFFF81000004, 4, False),
        ("kernel.data(0xffffffff81000004).length(3).rw", None, 0xFFFFFFFF81000004, 4, True),
        ("kernel.data(0xffffffff81000008).length(5).rw", None, 0xFFFFFFFF81000008, 8, True),
        ("kernel.data(4096).length(2).rw", None, 4096, 2, True),
        ('kernel.data("pid_max").write', "pid_max", 0, 1, False),
        ('kernel.data("pid_max").rw', "pid_max", 0, 1, True),
    ],
)
def test_row(point: str, symbol: str | None, address: int, length: int, reads: bool) -> None:
    assert rows(f"probe {point} {{ println(1) }}", "watchpoint") == [
        {"point": point, "symbol": symbol, "address": address, "length": length, "reads": reads,
         "optional": False}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("point", "code", "text"),
    [
        ("kernel.data(4096).length(0).rw", "E0212", "length value out of range (1, 8)"),
        ("kernel.data(4096).length(9).rw", "E0212", "length value out of range (1, 8)"),
        ("kernel.data(4096).length(-4).rw", "E0212", "length value out of range (1, 8)"),
        ("kernel.data(4098).length(4).rw", "E0234", "4 bytes at 0x1002 cannot be watched"),
        ("kernel.data(4100).length(7).write", "E0234", "8 bytes at 0x1004 cannot be watched"),
        ('kernel.data("pid_mx").rw', "E0231", "no match (similar symbols: pid_max)"),
        ('kernel.data("current_task").rw', "E0234", "'current_task' has no address of its own"),
        ('kernel.data("pid_max")', "E0230", "no probe point matches"),
        ('kernel.data("pid_max").length(4).rw', "E0230", "no probe point matches"),
        ("kernel.data(4096).read", "E0230", "no probe point matches"),
    ],
)
def test_refused(point: str, code: str, text: str) -> None:
    result = run(f"probe {point} {{ println(1) }}")
    assert result.codes == [code]
    assert text in result.diagnostics.items[0].message


@pytest.mark.parametrize(("number", "codes"), [(4, []), (5, ["W0609"])])
def test_more_than_there_are_registers(number: int, codes: list[str]) -> None:
    probes = [f"probe kernel.data({8 * at}).write {{ println({at}) }}\n" for at in range(number)]
    result = run("".join(probes))
    assert result.program is not None
    assert [item.code for item in result.diagnostics.items] == codes

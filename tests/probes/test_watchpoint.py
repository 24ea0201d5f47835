"""Watched data: rows, and what is refused."""

from __future__ import annotations

import pytest

from stapy.arch import ARM64
from stapy.services import Services
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
         "executes": False}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("point", "symbol", "address", "body"),
    [
        # No alignment is asked of an instruction.
        ("kernel.data(0xffffffff81000003).execute", None, 0xFFFFFFFF81000003, "println(1)"),
        ('kernel.data("vfs_read").execute', "vfs_read", 0, "println($count, $file->f_flags)"),
    ],
)
def test_row_of_an_instruction(point: str, symbol: str | None, address: int, body: str) -> None:
    assert rows(f"probe {point} {{ {body} }}", "watchpoint") == [
        {"point": point, "symbol": symbol, "address": address, "length": 1, "reads": False,
         "executes": True}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("point", "body", "code", "text", "more"),
    [
        ('kernel.data("vfs_raed").execute', "println(1)", "E0231",
         "no match (similar functions: vfs_read", "did you mean 'vfs_read'?"),
        ('kernel.data("pid_max").execute', "println(1)", "E0234", "'pid_max' is no function",
         'kernel.data("pid_max").rw tells who uses it'),
        ('kernel.data("mutex_lock").execute', "println(1)", "E0231", "no match",
         "-g lifts the list of functions that must not be probed"),
        ('kernel.data("m_show").execute', "println(1)", "E0234",
         "2 functions are called 'm_show'", 'kernel.function("m_show") probes all'),
        ('kernel.data("vfs_*").execute', "println(1)", "E0231", "no match", ""),
        ("kernel.data(4096).length(8).execute", "println(1)", "E0230", "no probe point", ""),
        ('kernel.data("vfs_read").length(8).execute', "println(1)", "E0230", "no probe point", ""),
        ('kernel.data("vfs_read").exec', "println(1)", "E0230", "no probe point",
         "did you mean 'execute'?"),
        ('kernel.data("vfs_read").execute', "println($cuont)", "E0241", "'cuont'",
         "did you mean '$count'?"),
        ('kernel.data("vfs_read").execute', "println($return)", "E0241", "'return'", ""),
        ("kernel.data(4096).execute", "println($count)", "E0241", "'count'", ""),
        ('kernel.data("pid_max").rw', "println($count)", "E0240", "target-symbol", ""),
    ],
)  # fmt: skip
def test_refused_instruction(point: str, body: str, code: str, text: str, more: str) -> None:
    result = run(f"probe {point} {{ {body} }}")
    assert result.codes == [code]
    (message,) = result.diagnostics.items
    assert text in message.message
    assert more in message.hint


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


@pytest.mark.parametrize(
    "point",
    [
        'kernel.data("pid_max").rw',
        'kernel.data("vfs_read").execute',
        "process.data(0x1000).write",
    ],
)
def test_machines_without_registers_that_probes_can_use(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Services, "machine", ARM64)
    result = run(f"probe {point} {{ println(1) }}")
    assert result.codes == ["E0265"]
    assert "not made for arm64" in result.diagnostics.items[0].message


@pytest.mark.parametrize("what", ["write", "execute"])
@pytest.mark.parametrize(("number", "codes"), [(4, []), (5, ["W0609"])])
def test_more_than_there_are_registers(number: int, codes: list[str], what: str) -> None:
    probes = [f"probe kernel.data({8 * at}).{what} {{ println({at}) }}\n" for at in range(number)]
    result = run("".join(probes))
    assert result.program is not None
    assert [item.code for item in result.diagnostics.items] == codes

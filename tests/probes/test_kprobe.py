"""Kernel functions: rows, the list of refused functions, the calling convention."""

from __future__ import annotations

import pytest

from stapy.arch import ARM64, X86_64, Architecture
from stapy.debuginfo import ctypes as c
from stapy.ir.program import BinaryOp, Const, ContextValue, Expr
from stapy.probes import abi, blocklist
from tests.elaborate import support as s
from tests.probes.test_begin_end import rows


def test_row_of_a_function() -> None:
    assert rows('probe kernel.function("vfs_read") { println(1) }', "kprobe") == [
        {
            "point": 'kernel.function("vfs_read")',
            "symbol": "vfs_read",
            "module": None,
            "address": 0,
            "offset": 0,
            "is_return": False,
            "maxactive": 0,
            "slot_bytes": 0,
            "callers": None,
        }
    ]


@pytest.mark.parametrize(
    ("point", "fields"),
    [
        ('kernel.function("vfs_read").return', {"is_return": True}),
        ('kernel.function("vfs_read").return.maxactive(9)', {"is_return": True, "maxactive": 9}),
        ('kprobe.function("vfs_read").return', {"is_return": True}),
        ('module("ext").function("ext_read")', {"module": "ext", "symbol": "ext_read"}),
        ('kprobe.module("e*").function("ext_read")', {"module": "ext"}),
        # A link address: the function around it, from a symbol that is unique.
        ("kernel.function(0x1004)", {"address": 0, "symbol": "vfs_open", "offset": 0x40}),
        ("kernel.function(0x1004).exported", {"symbol": "vfs_open", "offset": 0x40}),
    ],
)
def test_fields(point: str, fields: dict[str, object]) -> None:
    row = rows(f"probe {point} {{ println(1) }}", "kprobe")[0]
    assert {key: row[key] for key in fields} == fields


def test_absolute_addresses_are_for_gurus() -> None:
    row = rows("probe kprobe.statement(0x10).absolute { println(1) }", "kprobe", guru=True)[0]
    assert row["address"] == 0x10
    assert s.run("probe kprobe.statement(0x10).absolute { println(1) }").codes == ["E0214"]


@pytest.mark.parametrize(
    ("name", "is_return", "refused"),
    [
        ("vfs_read", False, False),
        ("mutex_lock", False, True),
        ("_raw_spin_lock_irqsave", False, True),
        ("register_kprobe", False, True),
        ("ftrace_ops_list_func", False, True),
        ("asm_exc_page_fault", False, True),
        ("exc_nmi", False, True),
        ("copy_from_kernel_nofault", False, True),
        ("objpool_push.isra.0", True, True),
        ("objpool_drop", True, True),
        ("mutex_lock.part.0", False, True),
        ("its_return_thunk", False, True),
        ("call_depth_return_thunk", False, True),
        ("core_restore_code", False, True),
        ("secondary_startup_64_no_verify", False, True),
        ("xen_asm_exc_page_fault", False, True),
        ("copy_user_enhanced_fast_string", False, True),
        ("clear_page_erms", True, False),
        ("vfs_read.constprop.0", False, False),
        ("do_exit", False, False),
        ("do_exit", True, True),
        ("kfree", False, False),
        ("tcp_sendmsg", True, False),
        ("schedule", False, False),
        ("do_sys_openat2", False, False),
        ("__x64_sys_read", True, False),
        ("submit_bio", False, False),
    ],
)
def test_blacklist(name: str, is_return: bool, refused: bool) -> None:
    assert bool(blocklist.reason(name, is_return)) is refused


@pytest.mark.parametrize(
    ("name", "is_return", "refused"),
    [
        ("preempt_schedule_notrace", True, True),
        ("preempt_schedule_notrace_thunk", True, True),
        ("preempt_schedule_notrace", False, False),
        ("mutex_lock", True, False),
    ],
)
def test_not_even_in_guru_mode(name: str, is_return: bool, refused: bool) -> None:
    assert bool(blocklist.never(name, is_return)) is refused


def where(value: Expr | None) -> str:
    """Print a place as a short text."""
    if isinstance(value, ContextValue):
        return f"{value.name}{value.index}"
    if isinstance(value, BinaryOp) and isinstance(value.right, Const):
        return f"{where(value.left)}+{value.right.value}"
    return "?"


WIDE = s.struct("wide", 12, ("a", s.INT, 0), ("b", s.INT, 4), ("c", s.INT, 8))


def places_of(function: s.c.FunctionType, machine: Architecture) -> list[str]:
    """Tell where each parameter is when the function begins; ``@`` stands before an address."""
    found = []
    for variable in abi.parameters(function, machine):
        if variable.parts:
            found.append(" ".join(where(x) for x in variable.parts))
        elif variable.address is not None:
            found.append("@" + where(variable.address))
        else:
            found.append(where(variable.value))
    return found


@pytest.mark.parametrize(
    ("types", "places"),
    [
        ([s.INT, s.LONG], ["arg0", "arg1"]),
        # A struct of up to two words takes registers, when all of it fits in them.
        ([s.SMALL, s.INT], ["arg0 arg1", "arg2"]),
        ([WIDE, s.INT], ["arg0 arg1", "arg2"]),
        ([s.LONG] * 5 + [s.SMALL, s.INT], [*(f"arg{i}" for i in range(5)), "@register7+8", "arg5"]),
        # A larger one is on the stack and leaves the registers to the others.
        ([s.BIG, s.INT], ["@register7+8", "arg0"]),
        (
            [s.LONG] * 6 + [s.INT, s.BIG],
            [*(f"arg{i}" for i in range(6)), "stack_arg0", "@register7+16"],
        ),
    ],
)
def test_parameters(types: list[s.c.CType], places: list[str]) -> None:
    made = s.function(s.INT, *((f"p{i}", t) for i, t in enumerate(types)))
    assert places_of(made, X86_64) == places


def test_a_large_result_takes_the_first_register() -> None:
    first = abi.parameters(s.function(s.BIG, ("n", s.INT)), X86_64)[0]
    assert where(first.value) == "arg1"


@pytest.mark.parametrize(
    ("type", "place"),
    [
        (s.INT, "return0"),
        (s.SMALL, "return0 register1"),
        (s.BIG, "@return0"),
        (s.VOID, None),
    ],
)
def test_results(type: s.c.CType, place: str | None) -> None:
    variable = abi.result(s.function(type), X86_64)
    if variable is None:
        assert place is None
    elif variable.parts:
        assert " ".join(where(x) for x in variable.parts) == place
    elif variable.address is not None:
        assert "@" + where(variable.address) == place
    else:
        assert where(variable.value) == place


def test_floating_point_parameters_are_left_out() -> None:
    made = s.function(s.INT, ("f", s.c.Float("double", 8)), ("n", s.INT))
    assert [v.name for v in abi.parameters(made, X86_64)] == ["$n"]


def test_functions_that_are_called_in_a_way_of_their_own() -> None:
    """DW_CC_nocall: nothing is where the calling convention would have it."""
    type = s.function(s.INT, ("n", s.LONG))
    assert [row.name for row in abi.parameters(type, X86_64)] == ["$n"]
    assert abi.result(type, X86_64) is not None
    assert abi.unknown_result(type, X86_64) == {}
    type.own_convention = True
    assert abi.parameters(type, X86_64) == []
    assert abi.result(type, X86_64) is None
    assert list(abi.unknown_result(type, X86_64)) == ["$return"]
    nothing = s.function(c.Void(), ("n", s.LONG))
    nothing.own_convention = True
    assert abi.unknown_result(nothing, X86_64) == {}
    assert list(abi.no_result(nothing)) == ["$return"]
    assert abi.no_result(type) == {}


@pytest.mark.parametrize(
    ("types", "places"),
    [
        ([s.INT, s.LONG], ["arg0", "arg1"]),
        ([s.LONG] * 9, [*(f"arg{i}" for i in range(8)), "stack_arg0"]),
        ([s.SMALL, s.INT], ["arg0 arg1", "arg2"]),
        # A large one is passed by its address, which takes a register.
        ([s.BIG, s.INT], ["@arg0", "arg1"]),
        # What does not fit goes to the stack, and all behind it.
        (
            [s.LONG] * 7 + [s.SMALL, s.INT],
            [*(f"arg{i}" for i in range(7)), "@register31+0", "stack_arg2"],
        ),
    ],
)
def test_parameters_of_arm64(types: list[s.c.CType], places: list[str]) -> None:
    made = s.function(s.BIG, *((f"p{i}", t) for i, t in enumerate(types)))
    assert places_of(made, ARM64) == places


def test_results_of_arm64() -> None:
    small = abi.result(s.function(s.SMALL), ARM64)
    assert small is not None
    assert [where(x) for x in small.parts or []] == ["return0", "register1"]
    large = s.function(s.BIG)
    assert abi.result(large, ARM64) is None
    assert "no register tells where" in abi.unknown_result(large, ARM64)["$return"]()

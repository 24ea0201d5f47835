"""Locations of variables as expressions of the handler."""

from __future__ import annotations

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.answers import Passing
from stapy.debuginfo.dwarf.read.expressions import Op
from stapy.debuginfo.dwarf.read.variables import DwarfVariable
from stapy.ir.program import (
    BinaryOp,
    Conditional,
    Const,
    ContextValue,
    EmbeddedValue,
    EntryRegister,
    Expr,
    MemoryRead,
    NotKnown,
)
from stapy.probes.families.kprobe.functions import FAMILY, KprobeSite
from tests.elaborate import support as s
from tests.translate.support import translated

from .test_kernel_places import BASE, INSIDE, PASSED, Info, place


def shown(value: Expr | None) -> str:
    """Print an expression as a short text."""
    if isinstance(value, ContextValue):
        return f"r{value.index}:{value.size}{'s' if value.signed else ''}"
    if isinstance(value, Const):
        return str(value.value)
    if isinstance(value, BinaryOp):
        return f"({shown(value.left)} {value.op} {shown(value.right)})"
    if isinstance(value, MemoryRead):
        return f"[{shown(value.address)}]{value.size}"
    if isinstance(value, Conditional):
        return f"({shown(value.cond)} ? {shown(value.yes)} : {shown(value.no)})"
    if isinstance(value, EmbeddedValue):
        return value.code.replace("(int64_t)((unsigned long)", "(").removeprefix("(int64_t)")
    if isinstance(value, NotKnown):
        return f"!{value.why}"
    if isinstance(value, EntryRegister):
        return f"{value.function.symbol}({value.register}) of {shown(value.frame)}"
    return "?"


EIGHT = s.struct("eight", 8, ("a", s.INT, 0), ("b", s.INT, 4))
BYTE = c.Int("unsigned char", 1, False)


CALLER = place("caller", is_exact=False)


def passed(back: int, *ops: Op) -> Passing:
    """Make what the call that returns to an address would pass."""
    return Passing(BASE + back, CALLER, list(ops))


PASSED[1] = [passed(32, Op("address_in", 3)), passed(48, Op("address_in", 12)),
             passed(64, Op("const", 7))]  # fmt: skip
PASSED[2] = [passed(32, Op("frame", 4), Op("read", 8))]
PASSED[3] = [passed(32, Op("address_in", 0))]


@pytest.mark.parametrize(
    ("type", "ops", "expected"),
    [
        (s.INT, [Op("register", 5)], "r5:4s"),
        (BYTE, [Op("register", 3)], "r3:1"),
        (EIGHT, [Op("register", 3)], "parts r3:8"),
        (s.SMALL, [Op("register", 3)], None),
        (
            s.SMALL,
            [Op("register", 3), Op("piece", 64), Op("register", 4), Op("piece", 64)],
            "parts r3:8 r4:8",
        ),
        (s.LONG, [Op("address_in", 3, 8)], "at (r3:8 + 8)"),
        (s.LONG, [Op("frame", -16)], "at ((r7:8 + 48) + -16)"),
        (s.LONG, [Op("const", -1), Op("value")], "-1"),
        (BYTE, [Op("const", 511), Op("value")], "255"),
        (s.INT, [Op("const", 2**32 - 2), Op("value")], "-2"),
        (s.LONG, [Op("address_in", 0, 4), Op("value")], "(r0:8 + 4)"),
        (BYTE, [Op("address_in", 0, 0), Op("value")], "(r0:8 & 255)"),
        (s.LONG, [Op("address_in", 0, 8), Op("read", 8), Op("value")], "[(r0:8 + 8)]8"),
        (s.LONG, [Op("address_in", 0, 0), Op("dup"), Op("*"), Op("value")], "(r0:8 * r0:8)"),
        (s.LONG, [Op("const", 1), Op("const", 2), Op("swap"), Op("-"), Op("value")], "(2 - 1)"),
        (s.LONG, [Op("address", BASE + 16)], "at (register_kprobe + (16L))"),
        (s.LONG, [Op("address", 0x1234)], "at (__per_cpu_offset[raw_smp_processor_id()] + 4660L)"),
        # Larger than its pieces: what is left is nowhere.
        (s.SMALL, [Op("register", 1), Op("piece", 64)], "parts r1:8 0 without [(64, 128)]"),
        (
            EIGHT,
            [Op("piece", 32), Op("address_in", 7, 4), Op("piece", 32)],
            "parts ([(r7:8 + 4)]4 << 32) without [(0, 32)]",
        ),
        (
            EIGHT,
            [Op("const", 5), Op("value"), Op("piece", 32), Op("register", 3), Op("piece", 32)],
            "parts ((5 & 4294967295) | ((r3:8 & 4294967295) << 32))",
        ),
        (
            s.LONG,
            [Op("register", 3), Op("piece", 8, 4), Op("register", 4), Op("piece", 56)],
            "((((r3:8 >> 4) & 1152921504606846975) & 255) | ((r4:8 & 72057594037927935) << 8))",
        ),
        (s.LONG, [Op("piece", 32), Op("register", 4), Op("piece", 32)], None),
        (
            s.SMALL,
            [Op("address_in", 7, 0), Op("piece", 96), Op("register", 3), Op("piece", 32)],
            "parts [r7:8]8 ([(r7:8 + 8)]4 | ((r3:8 & 4294967295) << 32))",
        ),
        (EIGHT, [Op("piece", 64)], None),
        (s.SMALL, [Op("bytes", (7 << 64) + 5, 16)], "parts 5 7"),
        (s.INT, [Op("bytes", 2**32 - 1, 4)], "-1"),
        # Both ways of a branch, which end together.
        (
            s.LONG,
            [
                Op("address_in", 0, 0),
                Op("address_in", 1, 0),
                Op("over"),
                Op("const", 3),
                Op("<"),
                Op("branch", 7),
                Op("swap"),
                Op("drop"),
                Op("value"),
            ],
            "((r0:8 < 3) ? r0:8 : r1:8)",
        ),
        (s.LONG, [Op("const", 1), Op("skip", 3), Op("drop"), Op("value")], "1"),
        (
            s.LONG,
            [
                Op("const", 1),
                Op("const", 2),
                Op("const", 3),
                Op("rotate"),
                Op("-"),
                Op("+"),
                Op("value"),
            ],
            "(3 + (1 - 2))",
        ),
        # The language's shift brings the sign.
        (
            s.LONG,
            [Op("address_in", 1), Op("const", 3), Op(">>>"), Op("value")],
            "((r1:8 >> 3) & 2305843009213693951)",
        ),
        (s.LONG, [Op("address_in", 1), Op("const", 3), Op(">>"), Op("value")], "(r1:8 >> 3)"),
        # Numbers of a type wrap, and have its sign.
        (
            s.LONG,
            [
                Op("address_in", 1),
                Op("convert", 4, 0),
                Op("const", 1),
                Op("convert", 4, 0),
                Op("+"),
                Op("convert", 8, 1),
                Op("value"),
            ],
            "(((r1:8 & 4294967295) + 1) & 4294967295)",
        ),
        (s.LONG, [Op("address_in", 1), Op("convert", 1, 1), Op("value")], "((r1:8 << 56) >> 56)"),
        (
            s.LONG,
            [Op("address_in", 1), Op("convert", 8, 0), Op("const", 2), Op("<"), Op("value")],
            "((r1:8 ^ -9223372036854775808) < (2 ^ -9223372036854775808))",
        ),
        (s.LONG, [Op("address_in", 1), Op("const", 7), Op("/"), Op("value")], "(r1:8 / 7)"),
        (s.LONG, [Op("address_in", 1), Op("const", 7), Op("%"), Op("value")], "(r1:8 u% 7)"),
        (
            s.LONG,
            [Op("entry_register", 4), Op("add", 8), Op("value")],
            "(vfs_read(1) of (r7:8 + 48) + 8)",
        ),
        (s.LONG, [Op("entry_register", 3), Op("value")], None),
        # The caller's rbx was saved, its rbp by an expression; r12 is lost, r13 as it was.
        (
            s.LONG,
            [Op("parameter", 1), Op("value")],
            "(([((r7:8 + 48) + -8)]8 == (register_kprobe + (32L))) ? [((r7:8 + 48) + -16)]8"
            " : (([((r7:8 + 48) + -8)]8 == (register_kprobe + (64L))) ? 7"
            " : !what the caller of 'helper' would have passed is not known))",
        ),
        (
            s.LONG,
            [Op("parameter", 2), Op("value")],
            "(([((r7:8 + 48) + -8)]8 == (register_kprobe + (32L)))"
            " ? [(([(r6:8 + -24)]8 + 32) + 4)]8"
            " : !what the caller of 'helper' would have passed is not known)",
        ),
        (s.LONG, [Op("parameter", 3), Op("value")], None),
        (s.LONG, [Op("implicit_pointer", 99, 0), Op("dup"), Op("value")], None),
        (s.LONG, [Op("unknown", 0xFA)], None),
        (s.LONG, [Op("register", 30)], None),
        (s.LONG, [Op("drop"), Op("value")], None),
        (s.LONG, None, None),
    ],
)
def test_locations(type: c.CType, ops: list[Op] | None, expected: str | None) -> None:
    info = Info(
        [], variables=[DwarfVariable("x", type, False, ops, [(7, 9)] if ops is None else [])]
    )
    services = s.run("probe begin { println(1) }", debuginfo=info).services
    site = KprobeSite("vfs_read", None, 0, 36, False, 0, None, "DWARF", INSIDE)
    scope = FAMILY.scope(site, services)
    assert scope is not None
    found = scope.variables.get("$x")
    assert scope.groups["$$locals"] == scope.groups["$$vars"] == ["$x"]
    assert list(scope.members("$$vars")) == [("$x", found)]
    if found is None:
        assert expected is None
        reasons = {
            "entry_register": "takes no argument",
            "parameter": "no caller tells",
            "implicit_pointer": "has no address",
            "piece": "optimised",
        }
        told = [reasons[op.name] for op in ops or [] if op.name in reasons]
        reason = told[0] if told else "optimised it out"
        assert ("it is available at fs/a.c:7" if ops is None else reason) in scope.unavailable[
            "$x"
        ]()
    elif found.parts:
        gaps = f" without {found.gaps}" if found.gaps else ""
        assert "parts " + " ".join(shown(part) for part in found.parts) + gaps == expected
    elif found.address is not None:
        assert "at " + shown(found.address) == expected
    else:
        assert shown(found.value) == expected


def test_the_nearest_lines_are_named_as_ranges() -> None:
    gone = DwarfVariable("x", s.INT, False, None, [(2, 4), (6, 7), (9, 15), (30, 41), (90, 91)])
    info = Info([], variables=[gone])
    services = s.run("probe begin { println(1) }", debuginfo=info).services
    site = KprobeSite("vfs_read", None, 0, 36, False, 0, None, "DWARF", INSIDE)
    scope = FAMILY.scope(site, services)
    assert scope is not None
    assert INSIDE.line == 10
    assert scope.unavailable["$x"]() == "it is available at fs/a.c:2-3, 6, 9-14 …"


def test_c_of_entries_and_divisions() -> None:
    """What pass 3 makes of values of a function's entry, and of numbers without a sign."""
    ops = [Op("entry_register", 4), Op("convert", 8, 0), Op("const", 10), Op("convert", 8, 0)]
    ops += [Op("/"), Op("convert"), Op("value")]
    info = Info([INSIDE], variables=[DwarfVariable("x", s.LONG, True, ops)])
    done = s.run('probe kernel.function("helper@fs/a.c").inline { println($x) }', debuginfo=info)
    assert done.program is not None
    text = " ".join(translated(done.program, done.services, "t").text().split())
    assert 'stapy_entry_register(c, &x, 1, 1, (s64)c->regs->sp + 48, "vfs_read", at_' in text
    assert "stapy_unsigned_divide(c, x, 10, &quotient, at_" in text
    assert ".remembers = 1, }, " in text


@pytest.mark.parametrize(
    ("type", "ops", "written"),
    [
        # Where it is: the code behind the probe finds the new value there.
        (s.INT, [Op("register", 3)], "c->regs->bx = "),
        (s.LONG, [Op("frame", -16)], "regs->sp + 32; new = 5; stapy_write_kernel(c, address, &new"),
        # What is told of it is not where it is.
        (s.LONG, [Op("address_in", 3, 0), Op("value")], "it is worked out here"),
        (s.LONG, [Op("address_in", 3, 8), Op("read", 8), Op("value")], "it is worked out here"),
        (s.LONG, [Op("const", 7), Op("value")], "it is worked out here"),
        (s.LONG, [Op("entry_register", 4), Op("value")], "it is worked out here"),
        (s.LONG, [Op("parameter", 1), Op("value")], "it is worked out here"),
        (
            s.LONG,
            [Op("register", 3), Op("piece", 32), Op("register", 4), Op("piece", 32)],
            "it is worked out here",
        ),
    ],
)
def test_writing(type: c.CType, ops: list[Op], written: str) -> None:
    info = Info([INSIDE], variables=[DwarfVariable("x", type, True, ops)])
    script = 'probe kernel.function("helper@fs/a.c").inline { $x = 5 }'
    done = s.run(script, debuginfo=info, guru=True)
    if done.program is None:
        (item,) = done.diagnostics.items
        assert item.code == "E0245"
        assert written in item.where
    else:
        text = " ".join(translated(done.program, done.services, "t").text().split())
        assert written in text

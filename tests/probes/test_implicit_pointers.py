"""Pointers that the compiler has replaced by what they point to."""

from __future__ import annotations

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.read.expressions import Op
from stapy.debuginfo.dwarf.read.variables import DwarfVariable
from stapy.ir.dump import dump_program
from tests.elaborate import support as s

from .test_kernel_places import INSIDE, Info

IN_REGISTERS = [Op("register", 3), Op("piece", 64), Op("register", 4), Op("piece", 64)]
ONE_GONE = [Op("piece", 64), Op("register", 4), Op("piece", 64)]


def probed(
    text: str,
    behind: list[Op] | None,
    offset: int = 0,
    type: c.CType = s.SMALL,
    of: c.CType = s.SMALL,
) -> tuple[str, str]:
    """Run a script whose ``$p`` points into ``$y``; return what became of it and the messages."""
    variables = [
        DwarfVariable("p", s.pointer(of), True, [Op("implicit_pointer", 99, offset)]),
        DwarfVariable("y", type, False, behind),
    ]
    script = f'probe kernel.function("helper@fs/a.c").inline {{ {text} }}'
    done = s.run(script, debuginfo=Info([INSIDE], variables=variables))
    told = "\n".join(f"{e.message} {e.notes} {e.hint}" for e in done.services.diagnostics.errors)
    return ("" if done.program is None else dump_program(done.program, True)), told


@pytest.mark.parametrize(
    ("text", "behind", "offset", "expected"),
    [
        ("println($p->c)", IN_REGISTERS, 0, "@register(4):u64"),
        ("println($p->b)", IN_REGISTERS, 0, "(@register(3):u64) >> 32"),
        ("println($p->c)", [Op("address_in", 7, 16)], 0, "@kernel_s64((@register(7):u64) + 24)"),
        ("println($p[0]->a)", [Op("address_in", 7, 16)], 0, "@kernel_s32((@register(7):u64) + 16)"),
        ("println($p->c)", ONE_GONE, 0, "@register(4):u64"),
        ("println($p$)", IN_REGISTERS, 0, "{.a=%i, .b=%i, .c=%i}"),
        ("println($p$)", ONE_GONE, 0, "{.a=?, .b=?, .c=%i}"),
        ("println($$parms$)", IN_REGISTERS, 0, "p={.a=%i, .b=%i, .c=%i}"),
        ("println($$parms)", IN_REGISTERS, 0, "p=?"),
        ("println(@defined($p), @defined($p->c))", IN_REGISTERS, 0, ", 0, 1)"),
    ],
)
def test_members(text: str, behind: list[Op], offset: int, expected: str) -> None:
    dump, told = probed(text, behind, offset)
    assert expected in dump, (dump, told)


def test_scalars() -> None:
    """A pointer into a number: to all of it, or to its upper half."""
    dump, _ = probed("println($p[0])", [Op("register", 3)], 0, s.LONG, s.LONG)
    assert "@register(3):s64" in dump
    dump, _ = probed("println($p[0])", [Op("register", 3)], 4, s.LONG, s.UINT)
    assert "((@register(3):s64) >> 32) & 4294967295" in dump


@pytest.mark.parametrize(
    ("text", "behind", "offset", "expected"),
    [
        ("println($p)", IN_REGISTERS, 0, "replaced it by what it points to"),
        ("println($p->a)", ONE_GONE, 0, "optimised this part of it out"),
        ("println($p->a)", None, 0, "optimised out what it points to"),
        ("println($p[1]->a)", IN_REGISTERS, 0, "has 16 bytes"),
        ("println($p->a)", IN_REGISTERS, 8, "has 16 bytes"),
        ("i = 1; println($p[i]->a)", IN_REGISTERS, 0, "give a number"),
        ("println($p->nosuch)", IN_REGISTERS, 0, "unable to find member 'nosuch'"),
    ],
)
def test_what_is_not_there(text: str, behind: list[Op] | None, offset: int, expected: str) -> None:
    _, told = probed(text, behind, offset)
    assert expected in told

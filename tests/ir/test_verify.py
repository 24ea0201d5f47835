"""Each rule that a program of pass 2 keeps, broken by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stapy.diagnostics import NOWHERE, Bug
from stapy.ir import program as p
from stapy.ir import verify
from stapy.ir.program import Program
from stapy.ir.walk import walk
from tests.elaborate.support import run

SCRIPT = """
global on, total, seen
function twice(x) { return x * 2 }
function note(x) { total += x; if (x > 10) next }
function note(x) { total -= x }
probe begin { on = 1 }
probe kernel.function("vfs_read").return {
  if ($return > 0) { seen["a", twice($return)]++; note(@entry($count)) }
}
probe timer.s(2) if (on) {
  foreach ([name, n] in seen) { if (name == "b" || n) break }
  printf("%d %s\\n", total, on ? "x" . "y" : "z")
}
"""


@pytest.fixture
def program() -> Program:
    result = run(SCRIPT)
    assert result.program is not None, result.shown()
    assert verify.problems(result.program) == []
    return result.program


def find(program: Program, kind: type, number: int = 0) -> Any:
    """Find one node of the handlers and functions."""
    trees = [handler.body for handler in program.handlers]
    trees += [function.body for function in program.functions if function.body is not None]
    return [node for tree in trees for node in walk(tree) if isinstance(node, kind)][number]


def function(program: Program, name: str) -> p.Function:
    return next(item for item in program.functions if item.name == name)


def locked(program: Program, name: str) -> list[list[p.Lock]]:
    """Find the lists of locks that a global is in."""
    lists = [handler.locks for handler in program.handlers]
    for handler in program.handlers:
        lists += [node.locks for node in walk(handler.body) if isinstance(node, p.Locked)]
    return [locks for locks in lists if any(lock.var.name == name for lock in locks)]


def returning(program: Program) -> p.DerivedProbe:
    return next(probe for probe in program.probes if probe.slots)


def set_type(kind: type, to: p.Type) -> Callable[[Program], None]:
    def change(program: Program) -> None:
        find(program, kind).type = to

    return change


def foreign(program: Program) -> None:
    class Pending(p.Expr):
        pass

    find(program, p.Conditional).cond = Pending(NOWHERE, p.LONG)


def drop(field: str) -> Callable[[Program], None]:
    def change(program: Program) -> None:
        setattr(program, field, [])

    return change


def unlock(program: Program) -> None:
    for locks in locked(program, "seen"):
        locks.clear()


def read_only(program: Program) -> None:
    for locks in locked(program, "seen"):
        for lock in locks:
            lock.for_writing = False


def out_of_order(program: Program) -> None:
    for locks in locked(program, "seen"):
        locks.reverse()


def outside_of_locks(program: Program) -> None:
    handler = next(h for h in program.handlers if isinstance(h.body, p.If))
    assert any(isinstance(node, p.Locked) for node in walk(handler.body))
    handler.body.cond = p.GlobalRef(NOWHERE, p.LONG, program.globals[0])


def jump(program: Program) -> None:
    program.handlers[0].body = p.Break(NOWHERE)


def leave(program: Program) -> None:
    program.handlers[0].body = p.Return(NOWHERE)


def rename(program: Program) -> None:
    program.handlers[1].c_name = program.handlers[0].c_name


def undeclare(program: Program) -> None:
    function(program, "twice").params.clear()


def twice_declared(program: Program) -> None:
    params = function(program, "twice").params
    params.append(params[0])


def two_bodies(program: Program) -> None:
    function(program, "twice").code = "/* pure */"


def no_overload(program: Program) -> None:
    first = next(item for item in program.functions if item.next is not None)
    program.functions.remove(first.next)  # type: ignore[arg-type]


def other_overload(program: Program) -> None:
    first = next(item for item in program.functions if item.next is not None)
    assert first.next is not None
    first.next.params.append(p.Variable("more", p.LONG))


def set_on(item: Callable[[Program], Any], field: str, value: Any) -> Callable[[Program], None]:
    def change(program: Program) -> None:
        setattr(item(program), field, value)

    return change


def lasting(program: Program) -> None:
    program.conditions[0].judged_once = True


def changing_condition(program: Program) -> None:
    old = program.conditions[0].test
    program.conditions[0].test = p.AssignOp(NOWHERE, p.LONG, "=", old, p.Const(NOWHERE, p.LONG, 1))


def no_sites(program: Program) -> None:
    program.probes[0].sites = []


def no_entry(program: Program) -> None:
    returning(program).entry = None


def save_in_return(program: Program) -> None:
    handler = returning(program).handler
    store = p.SaveEntry(NOWHERE, 0, p.Const(NOWHERE, p.LONG, 1))
    handler.body = p.Block(NOWHERE, [handler.body, store])


def read_no_slot(program: Program) -> None:
    find(program, p.SavedEntry).slot = 7


def unused_handler(program: Program) -> None:
    program.handlers.append(p.Handler("h_more", [], p.Block(NOWHERE, [])))


def string_sum(program: Program) -> None:
    find(program, p.BinaryOp).op = "+"
    find(program, p.BinaryOp).left = p.Text(NOWHERE, p.STRING, "x")


BROKEN: list[tuple[Callable[[Program], None], str]] = [
    (rename, "the name of two things"),
    (set_on(lambda x: x.globals[0], "type", p.VOID), "a global of type void"),
    (set_on(lambda x: find(x, p.ElementRef).var, "keys", [p.STATS]), "keys of types stats"),
    (two_bodies, "not exactly one of body and code"),
    (set_on(lambda x: function(x, "twice"), "type", p.STATS), "returns stats"),
    (no_overload, "falls through to a function that is not in the program"),
    (other_overload, "falls through to a function of other parameters"),
    (twice_declared, "two variables of one name"),
    (
        set_on(lambda x: function(x, "twice").params[0], "type", p.OpenType()),
        "x is of type unknown",
    ),
    (unused_handler, "h_more: a handler of no probe"),
    (foreign, "Pending is no part of a typed program"),
    (leave, "return in a handler"),
    (jump, "break outside of a loop"),
    (set_on(lambda x: find(x, p.If).cond, "type", p.STRING), "a condition of type string"),
    (set_on(lambda x: find(x, p.Foreach), "value", p.Variable("other", p.LONG)), "the loop's"),
    (set_on(lambda x: find(x, p.Foreach), "keys", []), "a loop of 0 keys"),
    (drop("globals"), "is not among the program's globals"),
    (set_type(p.CallOp, p.OpenType()), "CallOp of type unknown"),
    (undeclare, "x is not declared"),
    (set_on(lambda x: find(x, p.ElementRef), "keys", []), "is asked for []"),
    (string_sum, "'+' of string and"),
    (
        set_on(lambda x: find(x, p.AssignOp), "target", p.Const(NOWHERE, p.LONG, 1)),
        "Const is given a value",
    ),
    (set_on(lambda x: find(x, p.LogicalOp).right, "type", p.STRING), "'||' of what is no number"),
    (set_on(lambda x: find(x, p.Conditional).yes, "type", p.LONG), "a choice between"),
    (drop("functions"), "is called and not in the program"),
    (set_on(lambda x: find(x, p.CallOp), "args", []), "is called with ()"),
    (unlock, "is used without its lock"),
    (read_only, "is written with a reader's lock"),
    (out_of_order, "locks out of order"),
    (outside_of_locks, "is used where it is not held"),
    (no_sites, "0 sites, 1 points"),
    (drop("handlers"), "is not among the program's handlers"),
    (drop("conditions"), "its condition is not among the program's"),
    (set_on(returning, "slots", [p.STATS]), "saves stats"),
    (no_entry, "slots [] of 1 are filled"),
    (save_in_return, "a return saves what belongs to the entry"),
    (read_no_slot, "slot 7 of 1 is read"),
    (set_on(lambda x: x.conditions[0].test, "type", p.STRING), "condition 0: of type string"),
    (changing_condition, "condition 0: has a AssignOp"),
    (lasting, "judged once, but"),
]


@pytest.mark.parametrize(("change", "expected"), BROKEN, ids=[text for _, text in BROKEN])
def test_broken_rules(program: Program, change: Callable[[Program], None], expected: str) -> None:
    change(program)
    assert expected in "; ".join(verify.problems(program))
    with pytest.raises(Bug, match="not sound"):
        verify.check(program)

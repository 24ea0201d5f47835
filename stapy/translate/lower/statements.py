"""Statements: control flow, loops, try and what leaves a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stapy.diagnostics import Bug
from stapy.ir import program as p
from stapy.translate.c.values import Value
from stapy.translate.c.writer import BREAK, CONTINUE, CWriter
from stapy.translate.lower import arrays
from stapy.translate.lower.assignments import evaluate
from stapy.translate.lower.body import FunctionWriter, LoopState
from stapy.translate.lower.calls import embedded_block
from stapy.translate.lower.dispatch import Destination, lower
from stapy.translate.lower.expressions import lower_string_into
from stapy.translate.tables.changes import changes

Rule = Callable[[FunctionWriter, Any], None]
TABLE: dict[type, Rule] = {}

_SPLITS = (p.If, p.Loop, p.Foreach, p.ForeachBucket, p.Try, p.Block, p.Locked)
_LEAVES = (p.Break, p.Continue, p.Next, p.Return)


def rule(*kinds: type) -> Callable[[Rule], Rule]:
    """Register the rule for some classes of statements."""

    def register(function: Rule) -> Rule:
        for kind in kinds:
            TABLE[kind] = function
        return function

    return register


def write(body: FunctionWriter, stmt: p.Stmt) -> None:
    """Write one statement with the comment that names its script line."""
    if isinstance(stmt, p.Block):
        write_list(body, stmt.body)
        return
    if isinstance(stmt, p.Locked):
        _locked(body, stmt)
        return
    try:
        found = TABLE[type(stmt)]
    except KeyError:
        raise Bug(f"pass 3 has no rule for {type(stmt).__name__}") from None
    body.source_line(stmt.span)
    before, after = changes(stmt) if body.unit.repeats else (False, False)
    if before:
        body.out.line("c->changed = true;")
    with body.temporaries():
        found(body, stmt)
    if after:
        body.out.line("c->changed = true;")


def _locked(body: FunctionWriter, stmt: p.Locked) -> None:
    """Write a region in which globals are held; what leaves it goes by way of its end."""
    out = body.out
    table = body.unit.lock_table(stmt.locks, body.name)
    out.blank()
    out.check(f"stapy_lock(c, {table}, ARRAY_SIZE({table}))", body.goto("out"))
    label = body.new_label("unlock")
    outer = body.fail_label, body.leave_label
    body.fail_label = body.leave_label = label
    write_inside(body, stmt.body)
    body.fail_label, body.leave_label = outer
    if label in body.labels:
        body.labels[label] -= out.fall_into(label)
    if body.labels.get(label):
        out.label(label)
    for line in body.unit.judge(stmt.conditions):
        out.line(line)
    out.line(f"stapy_unlock(c, {table}, ARRAY_SIZE({table}));")


def write_list(body: FunctionWriter, statements: list[p.Stmt], extra: int = 0) -> None:
    """Write statements in order; each straight run of them is charged at its start."""
    # A lone jump is paid for by what comes after it.
    lone = len(statements) == 1 and isinstance(statements[0], _LEAVES)
    due = extra > 0 or not (lone and body.unit.costs.head(statements[0]) == 1)
    for at, stmt in enumerate(statements):
        if body.is_charged and due:
            cost = extra
            for following in statements[at:]:
                cost += body.unit.costs.head(following)
                if isinstance(following, _SPLITS):
                    break
            extra = 0
            if cost:
                charge(body, cost, stmt)
        due = isinstance(stmt, _SPLITS)
        write(body, stmt)
        if isinstance(stmt, _LEAVES):
            return
    if body.is_charged and extra:
        charge(body, extra, None)


def charge(body: FunctionWriter, cost: int, stmt: p.Stmt | None) -> None:
    """Take so many statements off the budget."""
    if stmt is not None:
        body.source_line(stmt.span)
    place = body.place(stmt.span) if stmt is not None else "NULL"
    body.check(f"stapy_act(c, {cost}, {place})")


def write_inside(body: FunctionWriter, stmt: p.Stmt, extra: int = 0) -> None:
    """Write the body of a branch or a loop."""
    write_list(body, stmt.body if isinstance(stmt, p.Block) else [stmt], extra)


@rule(p.Evaluate)
def _evaluate(body: FunctionWriter, stmt: p.Evaluate) -> None:
    evaluate(body, stmt.expr)


@rule(p.If)
def _if(body: FunctionWriter, stmt: p.If) -> None:
    with body.temporaries():
        cond = lower(body, stmt.cond)
    out = body.out
    if _is_empty(stmt.then) and stmt.otherwise is not None:
        with out.block(f"if (!{cond.at(14)})"):
            write_inside(body, stmt.otherwise)
        return
    if stmt.otherwise is None or _is_empty(stmt.otherwise):
        with out.block(f"if ({cond.text})"):
            write_inside(body, stmt.then)
        return
    out.open(f"if ({cond.text})")
    write_inside(body, stmt.then)
    with body.capture() as other:
        write_inside(body, stmt.otherwise)
    out.between("else")
    out.splice(other)
    out.close()


def _is_empty(stmt: p.Stmt) -> bool:
    return isinstance(stmt, p.Block) and all(_is_empty(inner) for inner in stmt.body)


# --- loops --------------------------------------------------------------------


def _step(body: FunctionWriter, stmt: p.Loop) -> CWriter:
    with body.capture() as lines, body.temporaries():
        if stmt.step is not None:
            evaluate(body, stmt.step)
    return lines


@rule(p.Loop)
def _loop(body: FunctionWriter, stmt: p.Loop) -> None:
    out = body.out
    with body.capture() as test, body.temporaries():
        cond = lower(body, stmt.cond) if stmt.cond is not None else None
    if cond is not None and isinstance(cond.constant, int) and cond.constant:
        cond = None
    step = _step(body, stmt)
    simple = step.single() if not len(test) else None
    head = "" if cond is None or len(test) else cond.text
    if simple is not None:
        out.open(f"for (; {head}; {simple})" if head else f"for (;; {simple})")
    else:
        out.open(f"while ({head})" if head else "for (;;)")
    if len(test) and cond is not None:
        out.splice(test)
        out.guard(f"!{cond.at(14)}", BREAK)
    loop = LoopState(
        body.new_label("step") if simple is None and len(step) else "", body.is_charged
    )
    body.loops.append(loop)
    write_inside(body, stmt.body, extra=1)
    body.loops.pop()
    if simple is None and len(step):
        if loop.is_used:
            out.label(loop.step_label)
        out.splice(step)
    out.close()


def _limit(body: FunctionWriter, limit: p.Expr | None) -> Value | None:
    if limit is None:
        return None
    value = lower(body, limit)
    if isinstance(value.constant, int):
        return value if value.constant >= 0 else Value("0", constant=0)
    return Value(f"max_t(s64, {value.text}, 0)", reads=value.reads)


@rule(p.Foreach)
def _foreach(body: FunctionWriter, stmt: p.Foreach) -> None:
    out = body.out
    name = body.unit.global_name(stmt.var)
    keys_text, any_text = _slice(body, stmt)
    limit = _limit(body, stmt.limit)
    iterator = body.temp("struct stapy_iter", "iter")
    sort = {"": 0, "value": 1, "key": 2 + stmt.sort_index}[stmt.sort_by]
    operator = "STAPY_" + (stmt.sort_op or "count").upper() if stmt.var.type == p.STATS else "0"
    descending = "true" if stmt.is_descending else "false"
    out.line(
        f"stapy_iter_start(&{iterator}, {name}, {sort}, {operator}, {descending}, "
        f"{limit.text if limit else '-1'}, {keys_text}, {any_text});"
    )
    out.open(f"while (stapy_iter_next(&{iterator}))")
    for number, key in enumerate(stmt.keys):
        local = body.local(key.name)
        if key.type == p.STRING:
            source = f"stapy_iter_key_string(&{iterator}, {number})"
            out.line(f"stapy_copy({local.text}, {source}, sizeof({local.text}));")
        else:
            out.line(f"{local.text} = stapy_iter_key_long(&{iterator}, {number});")
    if stmt.value is not None:
        _foreach_value(body, stmt, iterator)
    body.loops.append(LoopState("", body.is_charged))
    write_inside(body, stmt.body, extra=1)
    body.loops.pop()
    out.close()


def _foreach_value(body: FunctionWriter, stmt: p.Foreach, iterator: str) -> None:
    assert stmt.value is not None
    text = body.local(stmt.value.name).text
    if stmt.var.type == p.STRING:
        body.out.line(f"stapy_copy({text}, stapy_iter_string(&{iterator}), sizeof({text}));")
    elif stmt.var.type == p.STATS:
        pointer = f"stapy_iter_stat(&{iterator})"
        value = arrays.stat_value(body, stmt, pointer, stmt.sort_op or "count", 0)
        body.out.line(f"{text} = {value.text};")
    else:
        body.out.line(f"{text} = stapy_iter_long(&{iterator});")


def _slice(body: FunctionWriter, stmt: p.Foreach) -> tuple[str, str]:
    """Copy a slice's keys to the frame for the time of the loop; return keys and wildcard table."""
    if stmt.slice is None:
        return "NULL", "NULL"
    keys, _ = arrays.lower_keys(body, stmt.var, stmt.slice)
    array = body.member(f"union stapy_key {{}}[{len(stmt.slice)}]", 8 * len(stmt.slice), "slice")
    for at, value in enumerate(keys.values):
        if value is not None and stmt.var.keys[at] == p.STRING and value.constant is None:
            size = body.buffer_room(value.room)
            declaration = f"char {{}}[{body.unit.bytes_text(size)}]"
            member = body.member(declaration, size, "slice_key")
            body.out.line(f"stapy_copy({member}, {value.text}, sizeof({member}));")
            keys.values[at] = Value(member)
    arrays.fill(body, keys, array)
    return array, arrays.any_of(body, keys)


@rule(p.ForeachBucket)
def _foreach_bucket(body: FunctionWriter, stmt: p.ForeachBucket) -> None:
    out = body.out
    shape = body.unit.shape(arrays.stat_var(stmt.stat))
    limit = _limit(body, stmt.limit)
    number = body.temp("s64", "number")
    test = f"{number} < stapy_stat_buckets(&{shape})"
    if limit is not None:
        kept = body.keep(limit, "limit", False)
        test += f" && {number} < {kept.text}"
    out.open(f"for ({number} = 0; {test}; {number}++)")
    bucket = body.local(stmt.bucket.name).text
    out.line(f"{bucket} = stapy_stat_bucket_low(&{shape}, {number});")
    if stmt.value is not None:
        pointer = arrays.stat_pointer(body, stmt.stat)
        value = body.local(stmt.value.name).text
        out.line(f"{value} = stapy_stat_bucket_count({pointer}, {number});")
    body.loops.append(LoopState("", body.is_charged))
    write_inside(body, stmt.body, extra=1)
    body.loops.pop()
    out.close()


@rule(p.Break)
def _break(body: FunctionWriter, stmt: p.Break) -> None:
    if not body.loops:
        raise Bug("break outside a loop in pass 3")
    body.out.line(BREAK)


@rule(p.Continue)
def _continue(body: FunctionWriter, stmt: p.Continue) -> None:
    if not body.loops:
        raise Bug("continue outside a loop in pass 3")
    loop = body.loops[-1]
    loop.is_used = True
    body.out.line(body.goto(loop.step_label) if loop.step_label else CONTINUE)


# --- leaving ------------------------------------------------------------------


@rule(p.Next)
def _next(body: FunctionWriter, stmt: p.Next) -> None:
    if body.next_returns:
        body.out.result(body.next_call.removesuffix(";"))
    elif body.next_call:
        body.out.line(body.next_call)
    body.out.line(body.goto(body.leave_label))


@rule(p.Return)
def _return(body: FunctionWriter, stmt: p.Return) -> None:
    if stmt.value is not None and body.returns == p.STRING:
        target = Destination("ret", body.unit.bytes_text(body.result_room), body.result_room)
        lower_string_into(body, stmt.value, target, "ret")
    elif stmt.value is not None:
        value = lower(body, stmt.value)
        if body.returns == p.LONG:
            body.out.result(value.text)
    body.out.line(body.goto(body.leave_label))


@rule(p.Delete)
def _delete(body: FunctionWriter, stmt: p.Delete) -> None:
    arrays.delete(body, stmt.target)


@rule(p.Try)
def _try(body: FunctionWriter, stmt: p.Try) -> None:
    out = body.out
    caught = body.new_label("caught")
    outer, outer_try = body.fail_label, body.in_try
    body.fail_label, body.in_try = caught, True
    write_inside(body, stmt.body)
    body.fail_label, body.in_try = outer, outer_try
    if caught not in body.labels:
        return  # nothing in there can fail
    done = body.new_label("done")
    if not out.leaves:
        out.line(body.goto(done))
    out.label(caught)
    out.guard("unlikely(stapy_is_fatal(c))", body.fail())
    if stmt.variable is not None:
        text = body.local(stmt.variable.name).text
        out.line(f"stapy_copy({text}, c->error, sizeof({text}));")
    out.line("stapy_caught(c);")
    write_inside(body, stmt.handler)
    if done in body.labels:
        out.label(done)


@rule(p.EmbeddedC)
def _embedded(body: FunctionWriter, stmt: p.EmbeddedC) -> None:
    # Statements, or an expression as SystemTap has it, which no semicolon ends.
    embedded_block(body, stmt, "", stmt.code, "\n;")


@rule(p.SaveEntry)
def _save_entry(body: FunctionWriter, stmt: p.SaveEntry) -> None:
    value = lower(body, stmt.value)
    target = f"((struct {body.slots} *)c->slots)->s{stmt.slot}"
    if stmt.value.type == p.STRING:
        body.out.line(f"stapy_copy({target}, {value.text}, sizeof({target}));")
    else:
        body.out.line(f"{target} = {value.text};")

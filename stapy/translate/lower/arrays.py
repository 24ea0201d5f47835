"""Elements of arrays and statistics."""

from __future__ import annotations

from collections.abc import Sequence

from stapy.ir import program as p
from stapy.translate.c.operations import STAT_NEVER_FAILS, STAT_OPS
from stapy.translate.c.values import UNARY, Value
from stapy.translate.lower.body import FunctionWriter, Keys
from stapy.translate.lower.dispatch import lower, lower_many, lowers


def lower_keys(
    body: FunctionWriter, var: p.Global, keys: Sequence[p.Expr | None], *others: p.Expr
) -> tuple[Keys, list[Value]]:
    """Evaluate keys and what follows them, in order; nothing is stored yet."""
    exprs = [key for key in keys if key is not None]
    names = [f"key{number + 1}" for number in range(len(exprs))]
    values = lower_many(body, [*exprs, *others], names)
    rest = iter(values)
    found = [next(rest) if key is not None else None for key in keys]
    return Keys(var, found), list(rest)


def keep_from_map(body: FunctionWriter, keys: Keys, *others: Value) -> list[Value]:
    """Copy strings that live in the array itself, before the array makes or frees an entry."""
    state = "g." + keys.var.c_name
    for at, value in enumerate(keys.values):
        if value is not None and keys.var.keys[at] == p.STRING and state in value.reads:
            keys.values[at] = body.keep(value, "key", True)
    return [
        body.keep(value, "value", True) if state in value.reads and value.room >= 0 else value
        for value in others
    ]


def fill(body: FunctionWriter, keys: Keys, array: str = "") -> str:
    """Write the keys into the key array and return the text to pass."""
    array = array or body.keys(len(keys.values))
    for at, value in enumerate(keys.values):
        if value is not None:
            field = "s" if keys.var.keys[at] == p.STRING else "n"
            body.out.line(f"{array}[{at}].{field} = {value.text};")
    return array


def any_of(body: FunctionWriter, keys: Keys) -> str:
    """Name the constant table that says which keys are ``*``."""
    return body.unit.any_table([value is None for value in keys.values])


def state_of_var(var: p.Global) -> frozenset[str]:
    """Name the state that reading an array depends on."""
    return frozenset(("g." + var.c_name,))


# --- reading ----------------------------------------------------------------


@lowers(p.ElementRef)
def _element(body: FunctionWriter, expr: p.ElementRef) -> Value:
    known = known_slot(body, expr)
    if known:
        if expr.var.type == p.STRING:
            return Value(known, reads=state_of_var(expr.var))
        return Value(f"*{known}", UNARY, state_of_var(expr.var))
    keys, _ = lower_keys(body, expr.var, expr.keys)
    array = fill(body, keys)
    return fetch(body, expr.var, array)


def known_slot(body: FunctionWriter, expr: p.ElementRef) -> str:
    """Return a pointer to an element's value where it is known to be there; "" elsewhere."""
    return body.known.text(expr) if body.known is not None else ""


def fetch(body: FunctionWriter, var: p.Global, array: str) -> Value:
    """Read the value of an element whose keys are in place."""
    name = body.unit.global_name(var)
    if var.type == p.STRING:
        result = body.temp("const char *", var.name)
        body.out.line(f"{result} = stapy_map_get_string({name}, {array});")
        return Value(result, reads=state_of_var(var))
    result = body.temp("s64", var.name)
    body.out.line(f"{result} = stapy_map_get_long({name}, {array});")
    return Value(result)


@lowers(p.InArray)
def _in_array(body: FunctionWriter, expr: p.InArray) -> Value:
    keys, _ = lower_keys(body, expr.var, expr.keys)
    array = fill(body, keys)
    name = body.unit.global_name(expr.var)
    found = body.known.finds(expr) if body.known is not None else None
    if found is not None:  # what it finds is wanted as well
        kind = "const char *" if expr.var.type == p.STRING else "s64 *"
        found.text = body.function_temp(kind, "found")
        body.out.line(f"{found.text} = stapy_map_find({name}, {array});")
        return Value(found.text)
    result = body.temp("s64", "found")
    if keys.has_wildcard:
        call = f"stapy_map_has_slice({name}, {array}, {any_of(body, keys)})"
    else:
        call = f"stapy_map_has({name}, {array})"
    body.out.line(f"{result} = {call};")
    return Value(result)


# --- changing ---------------------------------------------------------------


def slot(body: FunctionWriter, var: p.Global, array: str, expr: p.Expr) -> str:
    """Find or make an element's long; return the C text of the element."""
    pointer = body.temp("s64 *", "slot")
    place = body.place(expr.span)
    name = body.unit.global_name(var)
    body.out.line(f"{pointer} = stapy_map_slot(c, {name}, {array}, {place});")
    body.out.guard(f"!{pointer}", body.fail())
    return f"*{pointer}"


def set_string(body: FunctionWriter, var: p.Global, array: str, value: Value, expr: p.Expr) -> None:
    """Write ``var[keys] = value`` for a string."""
    place = body.place(expr.span)
    name = body.unit.global_name(var)
    body.check(f"stapy_map_set_string(c, {name}, {array}, {value.text}, {place})")


def delete(body: FunctionWriter, target: p.Expr) -> None:
    """Write ``delete`` of an element, a slice, an array or a scalar."""
    if isinstance(target, p.ElementRef):
        name = body.unit.global_name(target.var)
        known = known_slot(body, target)
        if known:
            body.out.line(f"stapy_map_delete_found({name}, {known});")
            return
        keys, _ = lower_keys(body, target.var, target.keys)
        array = fill(body, keys)
        if keys.has_wildcard:
            body.out.line(f"stapy_map_delete_slice({name}, {array}, {any_of(body, keys)});")
        else:
            body.out.line(f"stapy_map_delete({name}, {array});")
        return
    if isinstance(target, p.LocalRef):
        local = body.local(target.name)
        body.out.line(
            f"{local.text}[0] = '\\0';" if local.type == p.STRING else f"{local.text} = 0;"
        )
        return
    assert isinstance(target, p.GlobalRef)
    name = body.unit.global_name(target.var)
    if target.var.keys:
        body.out.line(f"stapy_map_clear({name});")
    elif target.var.type == p.STATS:
        body.out.line(f"stapy_stat_clear({name});")
    elif target.var.type == p.STRING:
        body.out.line(f"{name}[0] = '\\0';")
    else:
        body.out.line(f"{name} = 0;")


# --- statistics -------------------------------------------------------------


def stat_keys(body: FunctionWriter, stat: p.Expr) -> Keys:
    """Evaluate the keys of a statistic; a scalar one has none."""
    if isinstance(stat, p.ElementRef):
        return lower_keys(body, stat.var, stat.keys)[0]
    return Keys(stat_var(stat), [])


def stat_pointer(body: FunctionWriter, stat: p.Expr) -> str:
    """Look up a statistic; return a ``const struct stapy_stat *``, NULL for a missing element."""
    return stat_found(body, stat_keys(body, stat))


def stat_found(body: FunctionWriter, keys: Keys) -> str:
    """Look up the merged statistic of evaluated keys; return the name of its pointer.

    Merging costs a walk over all CPUs, so what the line before has merged is
    used again: `last_stat` knows it until anything else is written.
    """
    name = body.unit.global_name(keys.var)
    wanted = (name, *(value.text if value is not None else "*" for value in keys.values))
    if body.last_stat is not None and body.last_stat[:3] == (wanted, body.out, len(body.out)):
        return body.last_stat[3]
    if not keys.var.keys:
        call = f"stapy_stat_read({name})"
    else:
        array = fill(body, keys)
        if keys.has_wildcard:
            call = f"stapy_map_stat_slice({name}, {array}, {any_of(body, keys)})"
        else:
            call = f"stapy_map_stat({name}, {array})"
    result = body.temp("const struct stapy_stat *", "stat")
    body.out.line(f"{result} = {call};")
    body.last_stat = (wanted, body.out, len(body.out), result)
    return result


def stat_var(stat: p.Expr) -> p.Global:
    """Return the global behind a statistic."""
    assert isinstance(stat, (p.GlobalRef, p.ElementRef))
    return stat.var


@lowers(p.StatRead)
def _stat_read(body: FunctionWriter, expr: p.StatRead) -> Value:
    pointer = stat_pointer(body, expr.stat)
    return stat_value(body, expr, pointer, expr.op, expr.shift)


def stat_value(
    body: FunctionWriter, expr: p.Expr | p.Stmt, pointer: str, op: str, shift: int
) -> Value:
    """Read one number of a statistic; all but count and sum fail when it is empty."""
    result = body.temp("s64", op)
    place = body.place(expr.span)
    call = f"stapy_stat_value(c, {pointer}, {STAT_OPS[op]}, {shift}, &{result}, {place})"
    known = body.last_stat
    if op in STAT_NEVER_FAILS:
        body.out.line(call + ";")
    else:
        body.check(call)
    if known is not None and known[1:4:2] == (body.out, pointer):
        body.last_stat = (known[0], body.out, len(body.out), pointer)
    return Value(result)


@lowers(p.BucketRead, p.BucketIn)
def _bucket_read(body: FunctionWriter, expr: p.BucketRead | p.BucketIn) -> Value:
    """Read a bucket's count; ``in`` is the same, since a bucket without a count is not there."""
    bucket = lower(body, expr.bucket)
    pointer = stat_pointer(body, expr.stat)
    shape = body.unit.shape(stat_var(expr.stat))
    result = body.temp("s64", "bucket")
    place = body.place(expr.span)
    body.check(f"stapy_stat_bucket(c, {pointer}, &{shape}, {bucket.text}, &{result}, {place})")
    return Value(result)

"""Slotted records, the one kind of value that passes hand to each other.

``dataclasses`` would do the same job, but importing it and decorating some
hundred classes costs 60 ms at every start, half of the whole budget of pass 1
(see docs/decisions/start-up.md).  Type checkers treat a `Record`
as a dataclass through ``typing.dataclass_transform``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, dataclass_transform

_MISSING = object()
_BY_HAND = 8  # records of a class that are filled by hand before its __init__ is compiled


class _Factory:
    """Default that is made anew for each instance (a list, a dict)."""

    __slots__ = ("make",)

    def __init__(self, make: Any) -> None:
        self.make = make


def new(make: Any) -> Any:
    """Declare a field whose default is ``make()``, e.g. ``rows: list[int] = new(list)``."""
    return _Factory(make)


@dataclass_transform(eq_default=False)
class RecordMeta(type):
    """Turns annotated fields into ``__slots__``, an ``__init__`` and a ``fields`` tuple."""

    fields: tuple[str, ...]

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> RecordMeta:
        """Make the class from its annotations; fields of the bases come first."""
        own = [
            field
            for field, note in space.get("__annotations__", {}).items()
            if not str(note).startswith("ClassVar")
        ]
        defaults: dict[str, Any] = {}
        inherited: list[str] = []
        for base in bases:
            inherited += [f for f in getattr(base, "fields", ()) if f not in inherited]
            defaults.update(getattr(base, "_defaults", {}))
        for field in own:
            if field in space:
                defaults[field] = space.pop(field)
        space["__slots__"] = tuple(field for field in own if field not in inherited)
        space["fields"] = tuple(inherited + [f for f in own if f not in inherited])
        space["_defaults"] = defaults
        made = super().__new__(mcs, name, bases, space)
        if "__init__" not in space:
            type.__setattr__(made, "__init__", _first_init(made, defaults))
        return made


def _first_init(kind: RecordMeta, defaults: dict[str, Any]) -> Any:
    """Make an ``__init__`` for the first few records of a class, then compiled for the rest.

    To compile one takes as long as to fill some fifty records by hand, and of the classes that a
    command loads it uses few, of these many once.
    """
    left = _BY_HAND

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left >= 0 and _fill(self, kind.fields, defaults, given, named):
            return
        init = _make_init(kind.__name__, kind.fields, defaults)
        type.__setattr__(kind, "__init__", init)
        init(self, *given, **named)  # which also tells what is wrong with the arguments

    return __init__


def _fill(
    record: Any,
    fields: tuple[str, ...],
    defaults: dict[str, Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
) -> bool:
    """Set all fields of a record; tell whether the arguments are right."""
    count = len(given)
    if count > len(fields):
        return False
    used = 0
    for place, field in enumerate(fields):
        if place < count:
            value = given[place]
        elif field in named:
            value = named[field]
            used += 1
        elif field in defaults:
            value = defaults[field]
            if isinstance(value, _Factory):
                value = value.make()
        else:
            return False
        setattr(record, field, value)
    return used == len(named)


def _make_init(name: str, fields: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {"_missing": _MISSING}
    heads, lines = ["self"], []
    for field in fields:
        default = defaults.get(field, _MISSING)
        if default is _MISSING:
            heads.append(field)
            lines.append(f" self.{field} = {field}")
        elif isinstance(default, _Factory):
            scope["_make_" + field] = default.make
            heads.append(f"{field}=_missing")
            lines.append(f" self.{field} = _make_{field}() if {field} is _missing else {field}")
        else:
            scope["_default_" + field] = default
            heads.append(f"{field}=_default_{field}")
            lines.append(f" self.{field} = {field}")
    text = f"def __init__({', '.join(heads)}):\n" + ("\n".join(lines) or " pass")
    exec(text, scope)
    init = scope["__init__"]
    init.__qualname__ = f"{name}.__init__"
    return init


# Fields for readers, such as where something stands: trees that differ in them alone are equal.
PLACES = frozenset(("span", "operator_span", "operator_at", "member_name"))


class Record(metaclass=RecordMeta):
    """Base of all records: named slots, positional or keyword construction, a readable repr.

    Records compare by identity; use `same` for structural comparison.
    """

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{field}={getattr(self, field)!r}"
            for field in type(self).fields
            if field not in PLACES
        )
        return f"{type(self).__name__}({inside})"

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field) for field in type(self).fields)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for field, value in zip(type(self).fields, state, strict=True):
            setattr(self, field, value)


if TYPE_CHECKING:
    # For the type checker, which knows the fields of what it is given only there.
    from dataclasses import replace as replace
else:

    def replace(record: Any, **changes: Any) -> Any:
        """Make a copy of ``record`` with some fields changed; the original stays as it was."""
        kind = type(record)
        values = {field: getattr(record, field) for field in kind.fields}
        values.update(changes)
        return kind(**values)


def same(a: Any, b: Any) -> bool:
    """Tell whether two trees of records are equal in all fields but those of `PLACES`."""
    if isinstance(a, Record):
        return type(a) is type(b) and all(
            same(getattr(a, field), getattr(b, field))
            for field in type(a).fields
            if field not in PLACES
        )
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a == b)

"""Records are made the same whether their class is new or has made many."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from stapy.record import _BY_HAND, Record, new, replace, same


class Base(Record):
    """Have fields of each kind."""

    name: str
    count: int = 3
    rows: list[int] = new(list)


class Further(Base):
    """Have an own field behind those of the base."""

    last: str = ""


class Settled(Base):
    """Fill what the base asks for."""

    def __init__(self, name: str) -> None:
        super().__init__(name, rows=[7])


def _fields(record: Any) -> dict[str, Any]:
    return {field: getattr(record, field) for field in type(record).fields}


MADE = [
    (Base, ("a",), {}, {"name": "a", "count": 3, "rows": []}),
    (Base, ("a", 4), {"rows": [1]}, {"name": "a", "count": 4, "rows": [1]}),
    (Base, (), {"rows": [], "name": "b"}, {"name": "b", "count": 3, "rows": []}),
    (Further, ("a",), {"last": "z"}, {"name": "a", "count": 3, "rows": [], "last": "z"}),
    (Settled, ("a",), {}, {"name": "a", "count": 3, "rows": [7]}),
]
REFUSED = [
    ((), {}, "missing 1 required positional argument: 'name'"),
    (("a", 1, [], 2), {}, "takes from 2 to 4 positional arguments but 5 were given"),
    (("a",), {"nmae": "b"}, "unexpected keyword argument 'nmae'"),
    (("a",), {"name": "b"}, "multiple values for argument 'name'"),
]


@pytest.mark.parametrize(("kind", "given", "named", "expected"), MADE)
def test_fields_of_the_first_and_of_later_records(
    kind: Any, given: tuple[Any, ...], named: dict[str, Any], expected: dict[str, Any]
) -> None:
    """The first are filled by hand, the later ones by a function that is compiled."""
    made = [kind(*given, **named) for _ in range(_BY_HAND + 2)]
    assert [_fields(record) for record in made] == [expected] * len(made)
    assert same(pickle.loads(pickle.dumps(made[0])), made[-1])


def test_copies() -> None:
    """A copy has the other fields of its original."""
    for record in [Further("a", 4, last="z") for _ in range(_BY_HAND + 2)]:
        copy = replace(record, name="n")
        assert _fields(copy) == {"name": "n", "count": 4, "rows": record.rows, "last": "z"}


def test_defaults_that_are_made_are_not_shared() -> None:
    """Each record has its own list."""
    made = [Base("a") for _ in range(_BY_HAND + 2)]
    assert len({id(record.rows) for record in made}) == len(made)


@pytest.mark.parametrize(("given", "named", "words"), REFUSED)
@pytest.mark.parametrize("already", [0, _BY_HAND + 1])
def test_wrong_arguments(
    given: tuple[Any, ...], named: dict[str, Any], words: str, already: int
) -> None:
    """Both tell what is wrong as a function of Python does."""

    class Fresh(Base):
        pass

    for _ in range(already):
        Fresh("a")
    with pytest.raises(TypeError, match=rf"Fresh.__init__\(\) .*{words}"):
        Fresh(*given, **named)
    assert Fresh("b").name == "b"

"""What a cell returns: the status, and with ``--format=json`` prints and globals as values."""

from __future__ import annotations

from typing import Any

# A number, a text, or the dictionary of a statistic, as a record has it.
Cell = Any
# Elements of each global by their keys; one that is no array has the key ().
Arrays = dict[str, dict[tuple[Any, ...], Cell]]
_STATISTIC = ("count", "sum", "min", "max", "avg")


class StapyResult:
    """A session that has ended.

    ``status`` is its exit status.  With ``--format=json`` ``prints`` has a dictionary for each
    print (``time``, ``probe``, ``place`` and its fields under ``fields``), and ``globals`` the
    value of each global: a number, a text, a dictionary for a statistic, and for an array a
    dictionary by key, or by tuples of keys.  ``snapshots`` names those that the end did not tell,
    since the session failed: they are as in the last snapshot, which has a part of an array.
    """

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.prints: list[dict[str, Any]] = []
        self.globals: dict[str, Any] = {}
        self.errors: list[str] = []
        self.snapshots: set[str] = set()

    def rows(self, name: str | None = None) -> list[dict[str, Any]]:
        """List an array's elements, or without a name all prints, as flat dictionaries.

        An element has ``key1`` …, and ``value`` or the parts of its statistic; a print has its
        fields.  ``pandas.DataFrame(result.rows())`` makes a table of them.  Raises `KeyError`,
        with the names that there are, for a global that has not come.
        """
        if name is None:
            return [dict(one["fields"]) for one in self.prints]
        if name not in self.globals:
            there = ", ".join(self.globals) or "none"
            raise KeyError(f"no global '{name}' has come; there are: {there}")
        value = self.globals[name]
        if not isinstance(value, _Array):
            return [_flat((), value)]
        return [_flat(key if isinstance(key, tuple) else (key,), value[key]) for key in value]

    def take(self, arrays: Arrays) -> None:
        """Take the globals of the end."""
        for name, elements in arrays.items():
            if list(elements) == [()]:
                self.globals[name] = elements[()]
            else:
                self.globals[name] = _Array(
                    (keys if len(keys) > 1 else keys[0], value) for keys, value in elements.items()
                )

    def __repr__(self) -> str:
        parts = [f"exit status {self.status}"]
        if self.prints:
            parts.append(f"{len(self.prints)} print{'s' if len(self.prints) > 1 else ''}")
        for name, value in self.globals.items():
            parts.append(f"{name}[{len(value)}]" if isinstance(value, _Array) else name)
        return f"<stapy: {', '.join(parts)}>"


class _Array(dict[Any, Any]):
    """An array, which a statistic, a dictionary as well, is not."""


def _flat(keys: tuple[Any, ...], value: Any) -> dict[str, Any]:
    row = {f"key{number}": key for number, key in enumerate(keys, 1)}
    if isinstance(value, dict):
        return {**row, **{name: value[name] for name in _STATISTIC if name in value}}
    return {**row, "value": value}

"""Functions of one name: BTF describes some of them and does not say which is which.

Static functions of several files may share a name.  BTF may then have a prototype
for each (pahole before 1.25 keeps those that differ) or for the first one it met.
"""

from __future__ import annotations

from typing import NamedTuple

from stapy.debuginfo import ctypes as c

_UNUSED = "__unused"  # how stubs of system calls name what they do not look at
_SHOWN = 3  # prototypes in a message


class CommonPrototype(NamedTuple):
    """What is certain of a function, and ``ambiguity``: why it may be of another one."""

    type: c.FunctionType
    ambiguity: str


def common_prototype(name: str, types: list[c.FunctionType], symbols: int) -> CommonPrototype:
    """Tell what prototypes of BTF have in common; so many ``symbols`` have the name."""
    unlike = {(_shown(type, name), *(row.name for row in type.params)): type for type in types}
    if len(unlike) > 1:
        common = _common(list(unlike.values()))
        named = [row.name for row in common.params]
        if not all(named) or len(named) < max(len(type.params) for type in types):
            texts = list(dict.fromkeys(_shown(type, name) for type in types))
            shown = ", ".join(f"'{text}'" for text in texts[:_SHOWN])
            more = " …" if len(texts) > _SHOWN else ""
            return CommonPrototype(
                common, f"BTF describes several functions of this name: {shown}{more}"
            )
        types = [common]
    ambiguity = ""
    if symbols > 1:
        ambiguity = f"{symbols} functions have the name '{name}', and BTF does not tell them apart"
    return CommonPrototype(types[0], ambiguity)


def _shown(type: c.FunctionType, name: str) -> str:
    """Write a prototype with the names of its parameters."""
    params = ", ".join(c.c_name(row.type, row.name) for row in type.params) or "void"
    return c.c_name(type.result, f"{name}({params})")


def _common(types: list[c.FunctionType]) -> c.FunctionType:
    """Make a prototype of the parameters that all have at one place.

    Parameters that are not alike are there without a name.
    """
    params: list[c.Parameter] = []
    for row in zip(*(type.params for type in types)):
        first = row[0]
        if len({_words(parameter.type) for parameter in row}) > 1:
            break  # what follows comes in other registers
        alike = len({c.c_name(parameter.type, "") for parameter in row}) == 1
        names = {p.name for p in row if not p.name.startswith(_UNUSED)} or {first.name}
        params.append(c.Parameter(names.pop() if alike and len(names) == 1 else "", first.type))
    return c.FunctionType(
        _result([type.result for type in types]), params, any(type.is_variadic for type in types)
    )


def _result(types: list[c.CType]) -> c.CType:
    """Choose one of the results' types if they have one size, else the register, or void."""
    if any(isinstance(c.strip(type), c.Void) for type in types):
        return c.Void()
    if len({c.size_of(type) for type in types}) == 1:
        return types[0]
    return c.Int("long", 8, True, "signed")


def _words(type: c.CType) -> int:
    return max(1, (c.size_of(type) + 7) // 8)

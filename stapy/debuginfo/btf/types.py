"""Makes objects of `stapy.debuginfo.ctypes` out of BTF records, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.btf import index as k
from stapy.debuginfo.btf.section import BtfSection

# Real chains of pointers, typedefs and prototypes stay far below; a loop in damaged data does not.
_MAX_DEPTH = 64
_QUALIFIERS = {k.CONST: "const", k.VOLATILE: "volatile", k.RESTRICT: "restrict"}
_CHARACTERS = {"char", "signed char", "unsigned char"}


class TypeFactory:
    """Types of one BTF section by number; each is made once.

    ``resolve`` gives the type of any number, those of the section's base included.
    """

    def __init__(self, btf: BtfSection, resolve: Callable[[int], c.CType]) -> None:
        self._btf = btf
        self._resolve = resolve
        self._made: dict[int, c.CType] = {0: c.Void()}
        self._depth = 0

    def get(self, number: int) -> c.CType:
        """Make the type of a number of our own, once; `Unknown` for any other number.

        Raises `DebuginfoError` for a type that contains itself.
        """
        made = self._made.get(number)
        if made is not None:
            return made
        btf = self._btf
        if not btf.first <= number < btf.end:
            return c.UnknownType()
        if self._depth > _MAX_DEPTH:
            raise btf.damaged(f"BTF type {number} contains itself")
        self._depth += 1
        try:
            type = self._make(number)
        finally:
            self._depth -= 1
        self._made[number] = type
        return type

    def _text(self, offset: int) -> str:
        return self._btf.string(offset).decode("utf-8", "replace")

    def _make(self, number: int) -> c.CType:
        btf = self._btf
        name_at, info, size, body = btf.header(number)
        kind, count, flag = k.kind_of(info), info & 0xFFFF, bool(info >> 31)
        if kind in (k.STRUCT, k.UNION):
            word = "struct" if kind == k.STRUCT else "union"
            load = partial(self._members, body, count, flag)
            return c.Struct(word, self._text(name_at), size, load)
        if kind == k.PTR:
            target, user = self._untag(size)
            return c.Pointer(self._resolve(target), is_user=user)
        if kind == k.TYPEDEF:
            return c.Typedef(self._text(name_at), self._resolve(size))
        if kind in _QUALIFIERS:
            return c.Qualified(_QUALIFIERS[kind], self._resolve(size))
        if kind == k.TYPE_TAG:
            return self._resolve(size)
        if kind == k.INT:
            return self._integer(self._text(name_at), size, btf.words(body, 1)[0])
        if kind in (k.ENUM, k.ENUM64):
            values = self._values(body, count, kind == k.ENUM64, flag)
            return c.Enum(self._text(name_at), size, flag, values)
        if kind == k.ARRAY:
            element, _, length = btf.words(body, 3)
            return c.Array(self._resolve(element), length)
        if kind == k.FUNC_PROTO:
            return self._prototype(size, btf.words(body, 2 * count))
        if kind in (k.FUNC, k.VAR):
            return self._resolve(size)
        if kind == k.FLOAT:
            return c.Float(self._text(name_at), size)
        if kind == k.FWD:
            word = "union" if flag else "struct"
            return c.Struct(word, self._text(name_at), 0, list, is_declaration=True)
        return c.UnknownType(self._text(name_at))

    def _untag(self, number: int) -> tuple[int, bool]:
        """Skip the tags below a pointer; return the type there, and if one says ``__user``."""
        btf, user = self._btf, False
        for _ in range(_MAX_DEPTH):
            owner: BtfSection | None = btf
            while owner is not None and number < owner.first:
                owner = owner.base
            if owner is None or number >= owner.end:
                break
            name_at, info, next_type, _ = owner.header(number)
            if k.kind_of(info) != k.TYPE_TAG:
                break
            user = user or owner.string(name_at) == b"user"
            number = next_type
        return number, user

    @staticmethod
    def _integer(name: str, size: int, data: int) -> c.CType:
        flags = data >> 24 & 15
        if name in _CHARACTERS:
            encoding = "char"
        elif flags & 4:
            encoding = "bool"
        else:
            encoding = "signed" if flags & 1 else "unsigned"
        # Plain char is signed on x86, which BTF of older pahole does not tell.
        signed = bool(flags & 1) or name == "char"
        return c.Int(name, size, signed, encoding)

    def _values(self, body: int, count: int, is_wide: bool, signed: bool) -> list[c.Enumerator]:
        stride = 3 if is_wide else 2
        words = self._btf.words(body, stride * count)
        bits = 64 if is_wide else 32
        rows: list[c.Enumerator] = []
        for at in range(0, len(words), stride):
            value = words[at + 1] | (words[at + 2] << 32 if is_wide else 0)
            if signed and value >> bits - 1:
                value -= 1 << bits
            rows.append(c.Enumerator(self._text(words[at]), value))
        return rows

    def _prototype(self, result: int, words: tuple[int, ...]) -> c.FunctionType:
        params: list[c.Parameter] = []
        variadic = False
        for at in range(0, len(words), 2):
            name_at, type = words[at], words[at + 1]
            if type == 0 and name_at == 0:
                variadic = True
            else:
                params.append(c.Parameter(self._text(name_at), self._resolve(type)))
        return c.FunctionType(self._resolve(result), params, variadic)

    def _members(self, body: int, count: int, has_bitfields: bool) -> list[c.Member]:
        btf = self._btf
        words = btf.words(body, 3 * count)
        members: list[c.Member] = []
        for at in range(0, len(words), 3):
            name_at, number, place = words[at : at + 3]
            type = self._resolve(number)
            if has_bitfields:
                members.append(c.Member(self._text(name_at), type, place & 0xFFFFFF, place >> 24))
            else:
                bits, shift = self._old_bits(number)
                members.append(c.Member(self._text(name_at), type, place + shift, bits))
        return members

    def _old_bits(self, number: int) -> tuple[int, int]:
        """Find width and shift of a bit field that an integer type of its own tells.

        Both are 0 when it does not.
        """
        btf: BtfSection | None = self._btf
        for _ in range(_MAX_DEPTH):
            while btf is not None and number < btf.first:
                btf = btf.base
            if btf is None or number >= btf.end:
                return 0, 0
            _, info, size, body = btf.header(number)
            kind = k.kind_of(info)
            if kind == k.INT:
                data = btf.words(body, 1)[0]
                bits, shift = data & 0xFF, data >> 16 & 0xFF
                return (bits, shift) if bits != size * 8 or shift else (0, 0)
            if kind not in (k.TYPEDEF, *_QUALIFIERS, k.TYPE_TAG):
                return 0, 0
            btf, number = self._btf, size
        return 0, 0

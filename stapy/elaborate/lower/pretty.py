"""Pretty printing of C values: ``$x$``, ``$x$$``, ``$$vars`` and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.elaborate.lower.chains import Place, add, complete, is_user, pointee, rvalue
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context

MAX_PIECES = 30
MAX_ELEMENTS = 4
# No type says that an address is the kernel's: compilers drop the mark of user pointers.
QUOTED = {False: "kernel_or_user_string_quoted", True: "user_string_quoted"}


class _PrettyWriter:
    """Collects the pieces of one pretty-printed text, up to a limit."""

    def __init__(self, low: Context, span: Span) -> None:
        self.low = low
        self.span = span
        self.pieces: list[p.FormatPiece] = []
        self.args: list[p.Expr] = []
        self.around: list[ctypes.Struct] = []  # what is being printed

    def text(self, text: str) -> None:
        if self.pieces and self.pieces[-1].kind == "text":
            self.pieces[-1].text += text
        else:
            self.pieces.append(p.FormatPiece("text", text))

    def value(self, kind: str, value: p.Expr, flags: str = "") -> None:
        self.pieces.append(p.FormatPiece(kind, "", flags))
        self.args.append(value)

    @property
    def is_full(self) -> bool:
        return len(self.args) >= MAX_PIECES

    def place(self, place: Place, depth: int, at_top: bool = False) -> None:
        """Print one value; ``depth`` is how many levels of structs are opened."""
        type = ctypes.strip(place.type)
        if isinstance(type, ctypes.Struct):
            self.struct(place, type, depth)
        elif isinstance(type, ctypes.Array):
            self.array(place, type, depth)
        elif isinstance(type, ctypes.Pointer):
            self.pointer(place, type, depth, at_top)
        else:
            self.scalar(place, type)

    def scalar(self, place: Place, type: ctypes.CType) -> None:
        value = rvalue(self.low, place, self.span)
        if isinstance(value, Pending):
            self.text("?")
            return
        if _is_char(type) and not place.bit_size:
            self.text("'")
            self.value("c", value, "#")
            self.text("'")
        else:
            self.value("i", value)

    def pointer(self, place: Place, type: ctypes.Pointer, depth: int, at_top: bool) -> None:
        target = ctypes.strip(type.target)
        if place.behind is not None and at_top and isinstance(target, ctypes.Struct):
            below = pointee(self.low, place, self.span)
            if isinstance(below, Pending):
                self.text("?")
            else:
                self.struct(below, target, depth)
            return
        value = rvalue(self.low, place, self.span)
        if isinstance(value, Pending):
            self.text("?")
        elif _is_char(target):
            self.string(value, place.is_user or is_user(place.type))
        elif at_top and isinstance(target, ctypes.Struct):
            user = place.is_user or is_user(place.type)
            below = Place(type.target, None, value, is_user=user, modules=place.modules)
            self.struct(below, target, depth)
        else:
            self.value("p", value)

    def string(self, address: p.Expr, is_user: bool) -> None:
        call = self.low.worklist.library_call(self.low, QUOTED[is_user], [address], self.span)
        if call is None:
            self.value("p", address)
        else:
            self.value("s", call)

    def struct(self, place: Place, type: ctypes.Struct, depth: int) -> None:
        if type.is_declaration:
            type = complete(self.low, type, place) or type
        # No struct contains itself, but damaged debug information may say so.
        if depth <= 0 or any(type is other for other in self.around):
            self.text("{...}")
            return
        self.around.append(type)
        self.text("{")
        self.members(place, type, depth, True)
        self.text("}")
        self.around.pop()

    def members(self, place: Place, type: ctypes.Struct, depth: int, is_first: bool) -> bool:
        around = place.member_name or type.name or type.kind
        for item in type.members():
            if not is_first:
                self.text(", ")
            is_first = False
            if self.is_full:
                self.text("...")
                return False
            below = Place(
                item.type,
                None,
                place.address,
                place.parts,
                place.bit_offset + item.bit_offset,
                item.bit_size,
                place.is_user,
                gaps=place.gaps,
                member_name=f"{around}.{item.name}" if item.name else around,
            )
            if item.name:
                self.text(f".{item.name}=")
            self.place(below, depth - 1 if item.name else depth)
        return is_first

    def array(self, place: Place, type: ctypes.Array, depth: int) -> None:
        if place.address is None:
            self.text("?")
            return
        base = add(place.address, place.bit_offset // 8, place.member_name)
        if _is_char(ctypes.strip(type.element)):
            self.string(base, place.is_user)
            return
        if depth < 0:
            self.text("[...]")
            return
        size = ctypes.size_of(type.element)
        self.text("[")
        for index in range(min(type.count, MAX_ELEMENTS)):
            if index:
                self.text(", ")
            if self.is_full:
                break
            self.place(
                Place(type.element, None, add(base, index * size), is_user=place.is_user), depth
            )
        if type.count > MAX_ELEMENTS:
            self.text(", ...")
        self.text("]")

    def done(self) -> p.Expr:
        return p.PrettyPrint(self.span, p.STRING, self.pieces, self.args)


def _is_char(type: ctypes.CType) -> bool:
    """Tell whether a type is a plain, signed or unsigned ``char``, of which strings are made."""
    return isinstance(type, ctypes.Int) and type.size == 1 and type.name.endswith("char")


def pretty(low: Context, place: Place, depth: int, span: Span) -> p.Expr:
    """Lower ``$x$`` (depth 1) and ``$x$$`` to a ``{.member=value, …}`` text."""
    writer = _PrettyWriter(low, span)
    writer.place(place, 1 if depth == 1 else 8, True)
    return writer.done()


def listing(low: Context, places: list[tuple[str, Place | None]], depth: int, span: Span) -> p.Expr:
    """Build ``$$vars``: ``name=value`` for each place, hexadecimal unless ``$`` asks for more."""
    writer = _PrettyWriter(low, span)
    for number, (name, place) in enumerate(places):
        writer.text((" " if number else "") + name + "=")
        if place is None:
            writer.text("?")
        elif depth:
            writer.place(place, 1 if depth == 1 else 8, True)
        else:
            _plain(writer, place)
    return writer.done()


def _plain(writer: _PrettyWriter, place: Place) -> None:
    type = ctypes.strip(place.type)
    if isinstance(type, ctypes.Struct):
        writer.text("{...}")
        return
    value = rvalue(writer.low, place, writer.span)
    if isinstance(value, Pending):
        writer.text("?")
    elif isinstance(type, (ctypes.Pointer, ctypes.Array)):
        writer.value("p", value)
    else:
        writer.value("x", value, "#")

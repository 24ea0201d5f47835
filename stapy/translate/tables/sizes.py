"""How long strings can be: memory is given for that, not for MAXSTRINGLEN.

A string's size is the number of bytes that it needs at most, with its NUL.  Whatever nobody knows
better is MAXSTRINGLEN.  Keys that are only looked for count as well, for a key that is cut could
be taken for a shorter one.

What a function is given for its result, and so what it is written to, is another matter: the
translator's C and C that says ``pragma:sized`` keep to the size that is declared, but other C may
write MAXSTRINGLEN bytes whatever it says of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.texts import SIZED, said_bytes
from stapy.ir.walk import walk
from stapy.translate.c.words import hides, words_in
from stapy.translate.sharing import OwnText

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

_ROUNDS = 8  # strings that still grow then are as long as they may be
_NUMBER = 24  # bytes of a number in any notation
_PLAIN = frozenset("diuoxXpcs")  # directives of one argument that is a number or a string
_WORD = 8  # the runtime keeps strings in whole words


class StringSizes:
    """Sizes of the strings of one program.

    ``limit`` is MAXSTRINGLEN, ``kept`` what arrays keep of a string at most: MAP_STRING_LENGTH;
    ``macros`` are those of the script's C, which may hide anything.  A scope is the identity of a
    handler or function, whose variables have these names.
    """

    def __init__(
        self,
        program: p.Program,
        handlers: Iterable[p.Handler],
        limit: int,
        kept: int,
        macros: frozenset[str] = frozenset(),
    ) -> None:
        self._limit = limit
        self._kept = kept
        # By what holds the string: a variable, a global, a key of one, a function's result.
        self._known: dict[Hashable, int] = {}
        self._flows: list[tuple[Hashable, p.Expr, Hashable]] = []
        self._joins: list[tuple[Hashable, Hashable]] = []
        # By function or variable: what a call that writes there has to be given, and those calls.
        self._rooms: dict[Hashable, int] = {}
        self._writers: list[tuple[Hashable, Hashable]] = []
        for var in program.globals:
            if not var.keys and var.type == p.STRING:
                start = len(var.init) + 1 if isinstance(var.init, str) else 1
                self._known[var.c_name] = limit if var.settable else min(start, limit)
        for handler in handlers:
            self._collect(handler.body, id(handler))
        for condition in program.conditions:
            self._collect(condition.test, None)
        by_name = {var.c_name: var for var in program.globals}
        for function in program.functions:
            self._collect_function(function, by_name)
        self._solve()
        self._solve_rooms(program.functions, macros)

    def keys(self, var: p.Global) -> list[int]:
        """List the bytes for each key of an array, 0 for those that need MAXSTRINGLEN or none."""
        return [
            self._rounded(self._known.get((var.c_name, at), 1)) if kind == p.STRING else 0
            for at, kind in enumerate(var.keys)
        ]

    def value(self, var: p.Global) -> int:
        """Return the bytes for the strings of an array, 0 for MAXSTRINGLEN or no strings."""
        return self._rounded(self._known.get(var.c_name, 1)) if var.type == p.STRING else 0

    def result(self, function: p.Function) -> int:
        """Return the bytes that a caller gives for a function's string."""
        return self._rooms[id(function)]

    def variable(self, name: str, scopes: Iterable[Hashable]) -> int:
        """Return the bytes for a string variable that has this name in some scopes."""
        return max(self._room((scope, name)) for scope in scopes)

    def expression(self, expr: p.Expr, scopes: Iterable[Hashable]) -> int:
        """Return the bytes that an expression can need, wherever it stands; no more than there are.

        The scopes are those of all handlers that share the body in which it is.
        """
        return min(self._limit, max(self._size(expr, scope) for scope in scopes))

    def _rounded(self, size: int) -> int:
        size = min(_whole_words(size), self._kept)
        return size if size < self._limit else 0

    def _room(self, holder: Hashable) -> int:
        """Return what a variable or a result has: room for its text, and for calls that write."""
        size = _whole_words(self._known.get(holder, 1))
        return min(max(size, self._rooms.get(holder, 1)), self._limit)

    # --- what goes where -----------------------------------------------------

    def _collect(self, root: p.Node, scope: Hashable) -> None:
        for node in walk(root):
            if isinstance(node, p.AssignOp):
                if node.target.type == p.STRING:
                    self._assign(node, scope)
            elif isinstance(node, (p.ElementRef, p.InArray)):
                self._seek(node.var, node.keys, scope)
            elif isinstance(node, p.CallOp):
                for param, arg in zip(node.function.params, node.args, strict=True):
                    if param.type == p.STRING:
                        self._flows.append(((id(node.function), param.name), arg, scope))
            elif isinstance(node, p.Return):
                if node.value is not None and node.value.type == p.STRING:
                    self._flows.append((scope, node.value, scope))
                    self._write(scope, node.value)
            elif isinstance(node, p.Foreach):
                self._iterate(node, scope)
            elif isinstance(node, p.Try):
                if node.variable is not None:
                    self._known[scope, node.variable.name] = self._limit
            elif isinstance(node, (p.EmbeddedC, p.EmbeddedValue)):
                for var in (*node.reads, *node.writes):
                    self._expect_anything(var)
                for argument in node.arguments:  # STAP_ARG_x, which C may write
                    if isinstance(argument, p.LocalRef):
                        self._known[scope, argument.name] = self._limit

    def _collect_function(self, function: p.Function, by_name: dict[str, p.Global]) -> None:
        own = id(function)
        if function.next is not None:  # it goes on with these arguments, and its result is theirs
            its = function.next
            self._joins.append((own, id(its)))
            self._joins += [
                ((id(its), param.name), (own, mine.name))
                for param, mine in zip(its.params, function.params, strict=True)
            ]
        if function.body is not None:
            self._collect(function.body, own)
            return
        if function.type == p.STRING:
            self._known[own] = self._said(function.markers)
        for name in function.reads | function.writes:
            self._expect_anything(by_name[name])

    def _expect_anything(self, var: p.Global) -> None:
        """Give up on a global that C reads, under whatever keys, or writes."""
        self._known[var.c_name] = self._limit
        for at in range(len(var.keys)):
            self._known[var.c_name, at] = self._limit

    def _said(self, markers: set[str]) -> int:
        said = said_bytes(markers)
        return self._limit if said is None else min(said, self._limit)

    def _assign(self, node: p.AssignOp, scope: Hashable) -> None:
        holder = self._holder(node.target, scope)
        if holder is not None:
            value = node.value
            if node.op != "=":
                value = p.BinaryOp(node.span, p.STRING, ".", node.target, node.value)
            self._flows.append((holder, value, scope))
            self._write(holder, value)

    def _write(self, holder: Hashable, value: p.Expr) -> None:
        """Note a call whose result is written straight to where it is kept."""
        if isinstance(value, p.CallOp):
            self._writers.append((holder, id(value.function)))

    def _seek(self, var: p.Global, keys: Sequence[p.Expr | None], scope: Hashable) -> None:
        for at, key in enumerate(keys):
            if key is not None and var.keys[at] == p.STRING:
                self._flows.append(((var.c_name, at), key, scope))

    def _iterate(self, node: p.Foreach, scope: Hashable) -> None:
        for at, variable in enumerate(node.keys):
            if variable.type == p.STRING:
                self._joins.append(((scope, variable.name), (node.var.c_name, at)))
        if node.value is not None and node.value.type == p.STRING:
            self._joins.append(((scope, node.value.name), node.var.c_name))
        if node.slice is not None:
            self._seek(node.var, node.slice, scope)

    def _holder(self, target: p.Expr, scope: Hashable) -> Hashable:
        """Name what an assignment changes; None where it is no string of the script."""
        if isinstance(target, p.LocalRef):
            return (scope, target.name)
        if isinstance(target, (p.GlobalRef, p.ElementRef)):
            return target.var.c_name
        return None

    # --- how much that is -----------------------------------------------------

    def _solve(self) -> None:
        """Let sizes flow until nothing grows; what goes on growing may be as long as any."""
        for round_ in range(_ROUNDS + len(self._flows) + len(self._joins)):
            grown = False
            for holder, expr, scope in self._flows:
                grown |= self._grow(holder, self._size(expr, scope), round_ >= _ROUNDS)
            for holder, other in self._joins:
                grown |= self._grow(holder, self._known.get(other, 1), round_ >= _ROUNDS)
            if not grown:
                return

    def _solve_rooms(self, functions: Sequence[p.Function], macros: frozenset[str]) -> None:
        """Find what has to be given to functions, and what variables have that they write to."""
        for function in functions:
            if function.code is not None and not _keeps_to_size(function, macros):
                self._rooms[id(function)] = self._limit
            else:
                self._rooms[id(function)] = self._room(id(function))
            if function.next is not None:  # which is given what this one was given
                self._writers.append((id(function), id(function.next)))
        is_open = True
        while is_open:
            is_open = False
            for holder, called in self._writers:
                wanted = self._rooms[called]
                if wanted > self._room(holder):
                    self._rooms[holder] = wanted
                    is_open = True

    def _grow(self, holder: Hashable, size: int, is_late: bool) -> bool:
        size = min(size, self._limit)
        if size <= self._known.get(holder, 1):
            return False
        self._known[holder] = self._limit if is_late else size
        return True

    def _size(self, expr: p.Expr, scope: Hashable) -> int:
        """Return the bytes that a string can need."""
        if isinstance(expr, p.Text):
            return len(expr.value) + 1
        if isinstance(expr, OwnText):
            return expr.room
        if isinstance(expr, p.AssignOp):
            expr = expr.target
        holder = self._holder(expr, scope)
        if isinstance(expr, p.CallOp):
            holder = id(expr.function)
        if holder is not None:
            return self._known.get(holder, 1)
        if isinstance(expr, p.Conditional):
            return max(self._size(expr.yes, scope), self._size(expr.no, scope))
        if isinstance(expr, p.BinaryOp):
            return self._size(expr.left, scope) + self._size(expr.right, scope) - 1
        if isinstance(expr, p.PrintOp):
            return self._printed(expr, scope)
        if isinstance(expr, p.EmbeddedValue):
            return self._said(expr.markers)
        return self._limit

    def _printed(self, expr: p.PrintOp, scope: Hashable) -> int:
        """Return the bytes that sprintf() can need."""
        size = 1
        args = iter(expr.args)
        for piece in expr.pieces:
            if piece.kind == "text":
                size += len(piece.text)
                continue
            widths = (piece.width, piece.precision)
            if "*" in widths or piece.kind not in _PLAIN:
                return self._limit
            arg = next(args)
            width, precision = (at if isinstance(at, int) else 0 for at in widths)
            own = self._size(arg, scope) - 1 if arg.type == p.STRING else _NUMBER
            size += max(own, width, precision + 2)
        return size


def _keeps_to_size(function: p.Function, macros: frozenset[str]) -> bool:
    """Tell whether a function's C promises to write no further than its result is declared.

    It cannot where it names the usual size, nor where a macro might.
    """
    code = function.code or ""
    return (
        any(mark.startswith(SIZED) for mark in function.markers)
        and "MAXSTRINGLEN" not in words_in(code)
        and not hides(code, macros)
    )


def _whole_words(size: int) -> int:
    return (size + _WORD - 1) // _WORD * _WORD

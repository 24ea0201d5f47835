"""Comparisons of texts with one result at every hit: a name that is longer than the kernel keeps,
a path without the quotes that the variable has.

What a text can be is known of functions in C that say so (`ir/texts.py`), and of what only ever
gets their values: local variables, functions that return nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.analyse.delay import set_by
from stapy.elaborate.analyse.entryvars import NamesOfProbe
from stapy.ir import program as p
from stapy.ir.texts import QUOTED, said_bytes
from stapy.ir.walk import walk
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stapy.diagnostics import Span
    from stapy.elaborate.lower.lowered import LoweredProbe
    from stapy.elaborate.names.pointtree import PointTree
    from stapy.services import Services

_QUOTE = ord('"')
_ADDRESS = ord("0")  # with which an address begins
_BEGINS = frozenset((_QUOTE, _ADDRESS))
# A quoted text ends with its quote, or with the dots behind it where it is cut.
_ENDS = frozenset((_QUOTE, *b".0123456789abcdefx"))
_EQUAL = ("==", "!=")
_DEPTH = 8  # of variables and functions between a comparison and where its text comes from


class _Shape(Record):
    """What every text of an expression is like: its greatest length, or that it is quoted.

    ``source`` is the function in C that says so, None where all texts are literals.
    """

    longest: int | None
    is_quoted: bool
    source: p.Function | None = None


class _Finding(Record):
    """A comparison whose result is always the same, in one of the handlers that have it."""

    node: p.BinaryOp | p.RegexMatch
    tested: p.Expr
    text: str
    shape: _Shape
    names: NamesOfProbe | None  # of the handler's aliases; None in a function


def check(
    probes: Iterable[LoweredProbe],
    functions: Iterable[p.Function],
    points: PointTree,
    services: Services,
) -> None:
    """Warn of comparisons in the script whose result is the same in all handlers that have them.

    SystemTap does not, so a command line that imitates its messages is spared them.
    """
    if services.options.message_format == "systemtap":
        return
    found: dict[Span, _Finding | None] = {}
    known = _Functions()
    for raw in probes:
        names = NamesOfProbe(points, raw.derived.chain, [])
        _collect(raw.body, names, _Shapes(raw.body, (), known), services, found)
    for one in functions:
        if one.body is not None:
            _collect(one.body, None, _Shapes(one.body, one.params, known), services, found)
    for finding in found.values():
        if finding is not None:
            _tell(finding, services)


def _collect(
    body: p.Stmt,
    names: NamesOfProbe | None,
    shapes: _Shapes,
    services: Services,
    found: dict[Span, _Finding | None],
) -> None:
    """Look at the comparisons of a body: one that tells anything in some handler is left out."""
    for node in walk(body):
        parts = _parts(node)
        if parts is None:
            continue
        source = services.sources.source(node.span)
        if source is None or source.is_library:
            continue
        assert isinstance(node, (p.BinaryOp, p.RegexMatch))
        tested, text = parts
        shape = shapes.of(tested)
        if shape is None or shape.source is None or not _never(node, text, shape):
            found[node.span] = None
        else:
            found.setdefault(node.span, _Finding(node, tested, text, shape, names))


def _parts(node: p.Node) -> tuple[p.Expr, str] | None:
    """Take a comparison with a literal apart: what is compared, and the literal's text."""
    if isinstance(node, p.RegexMatch):
        return node.left, node.pattern
    if not isinstance(node, p.BinaryOp) or node.op not in _EQUAL:
        return None
    if isinstance(node.right, p.Text):
        return node.left, node.right.value
    return (node.right, node.left.value) if isinstance(node.left, p.Text) else None


def _never(node: p.BinaryOp | p.RegexMatch, text: str, shape: _Shape) -> bool:
    """Tell whether no text of a shape equals the literal or matches the pattern."""
    if isinstance(node, p.RegexMatch):
        return shape.is_quoted and (_misses(text, 0, _BEGINS) or _misses(text, -1, _ENDS))
    if shape.longest is not None and len(text) > shape.longest:
        return True
    return shape.is_quoted and text != "" and ord(text[0]) not in _BEGINS


def _misses(pattern: str, end: int, known: frozenset[int]) -> bool:
    """Tell whether a pattern wants other characters than the known ones at one end of a text.

    ``end`` is 0 for the beginning, where ``^`` stands, and -1 for the end, where ``$`` does.
    """
    from stapy.ir import regex

    root = regex.parse(pattern).root
    if not isinstance(root, regex.Sequence) or len(root.parts) < 2:
        return False
    anchor, next_to_it = root.parts[end], root.parts[1 if end == 0 else -2]
    if not isinstance(anchor, regex.Anchor) or anchor.kind != ("^" if end == 0 else "$"):
        return False
    while isinstance(next_to_it, regex.Repeat) and next_to_it.low > 0:
        next_to_it = next_to_it.inner
    return isinstance(next_to_it, regex.Chars) and next_to_it.members.isdisjoint(known)


class _Functions:
    """What is known of the texts that functions return."""

    def __init__(self) -> None:
        self._known: dict[str, _Shape | None] = {}

    def of(self, function: p.Function, depth: int) -> _Shape | None:
        """Return what the C of a function says, or what all its returns have."""
        if function.c_name not in self._known:
            self._known[function.c_name] = None  # while it is looked at: no recursion
            self._known[function.c_name] = self._look(function, depth)
        return self._known[function.c_name]

    def _look(self, function: p.Function, depth: int) -> _Shape | None:
        if function.next is not None or function.type != p.STRING:
            return None
        if function.body is None:
            size = said_bytes(function.markers)
            is_quoted = QUOTED in function.markers
            if size is None and not is_quoted:
                return None
            return _Shape(None if size is None else size - 1, is_quoted, function)
        shapes = _Shapes(function.body, function.params, self)
        values = [node.value for node in walk(function.body) if isinstance(node, p.Return)]
        return _common([None if one is None else shapes.of(one, depth) for one in values])


class _Shapes:
    """Shapes of the expressions of one body."""

    def __init__(self, body: p.Node, params: Sequence[p.Variable], functions: _Functions) -> None:
        self._functions = functions
        self._known: dict[str, _Shape | None] = {}  # by local variable
        self._values: dict[str, list[p.Expr] | None] = dict.fromkeys(param.name for param in params)
        for node in walk(body):
            is_plain = isinstance(node, p.AssignOp) and node.op == "="
            for name in set_by(node):
                values = self._values.setdefault(name, [])
                if not is_plain or values is None:
                    self._values[name] = None
                else:
                    assert isinstance(node, p.AssignOp)
                    values.append(node.value)

    def of(self, expr: p.Expr, depth: int = 0) -> _Shape | None:
        """Return what is known of the texts of an expression, None for nothing."""
        depth += 1
        if depth > _DEPTH:
            return None
        if isinstance(expr, p.Text):
            text = expr.value
            is_quoted = text == "" or (ord(text[0]) in _BEGINS and ord(text[-1]) in _ENDS)
            return _Shape(len(text), is_quoted)
        if isinstance(expr, p.Conditional):
            return _common([self.of(one, depth) for one in (expr.yes, expr.no)])
        if isinstance(expr, p.LocalRef):
            if expr.name not in self._known:
                self._known[expr.name] = None  # while it is looked at: it may be set to itself
                values = self._values.get(expr.name) or []
                self._known[expr.name] = _common([self.of(one, depth) for one in values])
            return self._known[expr.name]
        return self._functions.of(expr.function, depth) if isinstance(expr, p.CallOp) else None


def _common(shapes: list[_Shape | None]) -> _Shape | None:
    """Return what holds for the texts of all shapes, None for nothing."""
    known = [shape for shape in shapes if shape is not None]
    if not known or len(known) < len(shapes):
        return None
    lengths = [shape.longest for shape in known]
    longest = None if None in lengths else max(length or 0 for length in lengths)
    source = next((shape.source for shape in known if shape.source is not None), None)
    return _Shape(longest, all(shape.is_quoted for shape in known), source)


# --- the message -------------------------------------------------------------------


def _tell(finding: _Finding, services: Services) -> None:
    node, text, shape = finding.node, finding.text, finding.shape
    is_match = isinstance(node, p.RegexMatch)
    is_negated = node.is_negated if isinstance(node, p.RegexMatch) else node.op == "!="
    name = _name(finding.tested)
    is_long = not is_match and shape.longest is not None and len(text) > shape.longest
    if is_long:
        # The text is one character for each byte here; the kernel's cut may go through one.
        unit = "characters" if text.isascii() else "bytes"
        fact = f"has at most {shape.longest} {unit}"
        begin = f'compare with the first {shape.longest}: "{text[: shape.longest]}"'
        hint = begin if text.isascii() else ""
        where = f"{len(text)} {unit}"
    else:
        at_end = is_match and not _misses(text, 0, _BEGINS)
        fact = f"{'ends' if at_end else 'begins'} with a double quote"
        hint = _plain(finding, at_end, services)
        where = f"this {'ends' if at_end else 'begins'} without one"
    result = "always true" if is_negated else "never true"
    services.diagnostics.warning(
        "W0617", f"comparison is {result}: {name} {fact}", node.span, where=where, hint=hint
    )


def _name(tested: p.Expr) -> str:
    if isinstance(tested, p.LocalRef):
        return f"'{tested.name}'"
    return f"{tested.function.name}()" if isinstance(tested, p.CallOp) else "this text"


def _plain(finding: _Finding, at_end: bool, services: Services) -> str:
    """Name what has the same text without quotes: a variable of the alias, or a function."""
    tested = finding.tested
    if isinstance(tested, p.LocalRef) and finding.names is not None:
        plain = f"{tested.name}_unquoted"
        if plain in finding.names.set_by_aliases():
            return f"'{plain}' is the text without quotes"
    if isinstance(tested, p.CallOp):
        plain = tested.function.name.removesuffix("_quoted")
        if plain != tested.function.name and services.library.files_with_function(plain):
            return f"{plain}() is the text without quotes"
    if isinstance(finding.node, p.RegexMatch):
        return 'end the pattern with \\"$' if at_end else 'begin the pattern with ^\\"'
    if not finding.text.isascii() or not finding.text.isprintable() or set(finding.text) & {*'"\\'}:
        return ""  # the kernel escapes such characters
    return f'with its quotes it is "\\"{finding.text}\\""'

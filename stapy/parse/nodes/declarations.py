"""Probe points, declarations, and the script that they stand in."""

from __future__ import annotations

from stapy.parse.nodes.base import Expr, Node, Stmt
from stapy.parse.nodes.expressions import Number, String


class PointComponent(Node):
    """``name(arg)`` in a probe point; ``arg`` is Number, String or None.

    ``name`` may hold the wildcards ``*`` and ``**``.
    """

    name: str
    arg: Number | String | None = None


class ProbePoint(Node):
    """``a.b("c").d ? if (cond)``.

    Braces have been expanded by the parser: ``a.{b,c}`` gives two points.
    ``optional`` is ``?``; ``sufficient`` is ``!``.
    """

    components: list[PointComponent]
    optional: bool = False
    sufficient: bool = False
    condition: Expr | None = None


class Decl(Node):
    """Base of top-level declarations."""


class GlobalDecl(Decl):
    """One global variable (``global a, b`` gives two)."""

    name: str
    is_private: bool = False
    init: Number | String | None = None
    size: int | None = None
    wraps: bool = False


class Param(Node):
    """Function parameter; ``type`` is "long", "string" or "" (to be inferred)."""

    name: str
    type: str = ""


class FunctionDecl(Decl):
    """A function; exactly one of ``body`` and ``code`` (embedded C) is set."""

    name: str
    params: list[Param]
    type: str
    body: Stmt | None
    code: str | None
    is_private: bool = False
    priority: int | None = None
    doc: str = ""


class ProbeDecl(Decl):
    """``probe points { body }``."""

    points: list[ProbePoint]
    body: Stmt


class AliasDecl(Decl):
    """``probe name = points { prologue }, { epilogue }``.

    ``epilogue`` alone comes from ``+=``; the other one is then None.
    ``name`` is a list of components without wildcards.
    """

    name: list[PointComponent]
    points: list[ProbePoint]
    prologue: Stmt | None
    epilogue: Stmt | None
    doc: str = ""


class EmbeddedDecl(Decl):
    """``%{ C %}`` at top level."""

    code: str


class Script(Node):
    """One parsed text.

    ``is_library`` is True for tapset files; ``path`` as shown in messages.
    """

    path: str
    decls: list[Decl]
    is_library: bool = False

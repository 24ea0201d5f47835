"""Templates: written for Jinja, run without it.

A template may hold text, ``{{ value }}``, ``for``, ``if`` on a ready boolean
and ``include`` of a literal name: nothing that decides.  Jinja parses it; the
few nodes that are allowed become one Python function each, and the compiled
functions are cached.  So a run pays neither for Jinja's import (70 ms) nor for
its parser, and a template that tries to be clever is refused.
"""

from __future__ import annotations

import marshal
import sys
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from stapy.cache import key_of
from stapy.diagnostics import Bug
from stapy.paths import data_dir

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

    from stapy.cache import Cache

FORMAT = 1


# What a template prints: texts, numbers, flags, and rows of these.
Model = dict[str, Any]


class Templates:
    """All templates of a folder as one table of functions."""

    def __init__(self, folder: Path | None = None, cache: Cache | None = None) -> None:
        self._folder = folder or data_dir("templates")
        self._cache = cache
        self._functions: dict[str, Any] | None = None

    def render(self, name: str, model: Model) -> str:
        """Render a template with a model; raise `Bug` for a name that is not in the model."""
        if self._functions is None:
            space: dict[str, Any] = {}
            exec(self._code(), space)
            self._functions = space["TEMPLATES"]
        out: list[str] = []
        try:
            self._functions[name](dict(model), out.append)
        except KeyError as error:
            raise Bug(f"template {name}: {error} is not in the model") from None
        return "".join(out)

    def _code(self) -> CodeType:
        texts = {
            path.relative_to(self._folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self._folder.rglob("*.j2"))
        }
        if self._cache is None:
            return compile(python_of(texts), "templates", "exec")
        key = key_of("templates", FORMAT, sys.version, *sum(texts.items(), ()))
        data = self._cache.get_bytes("templates", key)
        if data is not None:
            try:
                code = marshal.loads(data)
                if isinstance(code, CodeType):
                    return code
            except (ValueError, EOFError, TypeError):
                pass  # damaged: made anew
        code = compile(python_of(texts), "templates", "exec")
        self._cache.put_bytes("templates", key, marshal.dumps(code))
        return code


def environment() -> Environment:
    """Make the Jinja environment whose syntax and white space rules the templates follow."""
    from jinja2 import Environment, StrictUndefined

    return Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )


def python_of(texts: dict[str, str]) -> str:
    """Write Python source with one function per template and the table ``TEMPLATES``."""
    env = environment()
    lines: list[str] = []
    for number, (name, text) in enumerate(texts.items()):
        writer = _TemplateWriter(name)
        writer.lines.append(f"def t{number}(m, out):")
        writer.body(env.parse(text).body, 1, frozenset())
        writer.lines.append(" return None")
        lines += writer.lines
    rows = ", ".join(f"{name!r}: t{number}" for number, name in enumerate(texts))
    lines.append(f"TEMPLATES = {{{rows}}}")
    return "\n".join(lines) + "\n"


class _TemplateWriter:
    """Turns the nodes of one template into Python."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def body(self, body: list[nodes.Node], depth: int, names: frozenset[str]) -> None:
        for node in body:
            rule = getattr(self, "_" + type(node).__name__.lower(), None)
            if rule is None:
                raise self._refuse(node)
            rule(node, depth, names)

    def _line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def _refuse(self, node: nodes.Node) -> Bug:
        kind = type(node).__name__
        return Bug(f"template {self.name}:{node.lineno}: {kind} is not for templates")

    def _output(self, node: Any, depth: int, names: frozenset[str]) -> None:
        for part in node.nodes:
            if type(part).__name__ == "TemplateData":
                self._line(depth, f"out({part.data!r})")
            else:
                self._line(depth, f"out(str({self._value(part, names)}))")

    def _for(self, node: Any, depth: int, names: frozenset[str]) -> None:
        if node.else_ or node.test is not None or node.recursive:
            raise self._refuse(node)
        name = node.target.name
        self._line(depth, f"for v_{name} in {self._value(node.iter, names)}:")
        self.body(node.body, depth + 1, names | {name})
        self._line(depth + 1, "pass")

    def _if(self, node: nodes.If, depth: int, names: frozenset[str]) -> None:
        if node.elif_:
            raise self._refuse(node)
        self._line(depth, f"if {self._value(node.test, names)}:")
        self.body(node.body, depth + 1, names)
        self._line(depth + 1, "pass")
        if node.else_:
            self._line(depth, "else:")
            self.body(node.else_, depth + 1, names)
            self._line(depth + 1, "pass")

    def _include(self, node: Any, depth: int, names: frozenset[str]) -> None:
        if type(node.template).__name__ != "Const":
            raise self._refuse(node)
        scope = "m"
        if names:
            pairs = ", ".join(f"{name!r}: v_{name}" for name in sorted(names))
            scope = f"{{**m, {pairs}}}"
        self._line(depth, f"TEMPLATES[{node.template.value!r}]({scope}, out)")

    def _value(self, node: Any, names: frozenset[str]) -> str:
        kind = type(node).__name__
        if kind == "Name":
            return f"v_{node.name}" if node.name in names else f"m[{node.name!r}]"
        if kind == "Getattr":
            return f"{self._value(node.node, names)}[{node.attr!r}]"
        raise self._refuse(node)

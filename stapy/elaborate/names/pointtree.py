"""All spellings of probe points, of families and aliases, as one tree to match against."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from stapy.elaborate.names import interpreted
from stapy.elaborate.names.select import AliasSource
from stapy.parse import nodes as n
from stapy.probes import builds
from stapy.probes.families import FIRST_WORDS, families, families_of
from stapy.record import Record, new, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stapy.elaborate.names.select import SymbolTable
    from stapy.probes.family import Family, Form


_PROGRAMS = "process"


def _alone(source: AliasSource) -> list[AliasSource]:
    return [source]


class PointNode(Record):
    """One step; ``children`` is keyed by name and kind of argument ("", string, number).

    ``aliases`` holds what ends here: functions that give the declaration (and
    may have to load a library file for it).
    """

    children: dict[str, dict[str, PointNode]] = new(dict)
    family: Family | None = None
    aliases: list[Callable[[], list[AliasSource]]] = new(list)
    interpreted: str = ""  # the alias that a point with its arguments stands for

    def child(self, name: str, kind: str) -> PointNode:
        """Find the child of that name; make it when it is not there."""
        kinds = self.children.setdefault(name, {})
        if kind not in kinds:
            kinds[kind] = PointNode()
        return kinds[kind]


def spellings(node: PointNode, above: str = "") -> Iterator[tuple[str, PointNode]]:
    """List all points below a node as --dump-probe-types writes them, with their nodes."""
    if above and (node.family is not None or node.interpreted):
        yield above, node
    for name, kinds in node.children.items():
        for kind, below in kinds.items():
            word = f"{name}({kind})" if kind else name
            yield from spellings(below, f"{above}.{word}" if above else word)


def built_in() -> PointNode:
    """Make the tree of all points but aliases: of families, of other languages, of builds."""
    root = PointNode()
    for family in families():
        _enter_family(root, family)
    _enter_others(root)
    return root


def _enter_family(root: PointNode, family: Family, first: str = "") -> None:
    """Enter the points of a family: all, or those that begin with a word."""
    for form in family.forms:
        if first in ("", form.components[0][0]):
            _enter_form(root, form).family = family


def _enter_others(root: PointNode) -> None:
    """Enter the points of other languages, and those of builds."""
    for alias, written in interpreted.FORMS.items():
        for form in written:
            _enter_form(root, form).interpreted = alias
    # All that may follow `process("PATH")` follows it behind `debuginfod`, too.
    programs = root.child(_PROGRAMS, "string")
    above = root.child(builds.WORD, "")
    for node in (above, above.child("archive", "string")):
        node.children[_PROGRAMS] = {"string": programs}


def _enter_form(node: PointNode, form: Form) -> PointNode:
    for name, kind in form.components:
        node = node.child(name, kind)
    return node


class PointMatch(Record):
    """Where a point leads: the node, the components without wildcards, and what is left."""

    node: PointNode
    components: list[n.PointComponent]
    suffix: list[n.PointComponent]


class Mismatch(Record):
    """The component that matched nothing, and what could stand there.

    Where ``ends_early`` all matched, and the candidates are what must follow the last component.
    """

    component: n.PointComponent
    parent: list[n.PointComponent]
    candidates: list[str]
    kinds: list[str]
    is_suffix: bool = False
    ends_early: bool = False


def kind_of(component: n.PointComponent) -> str:
    """Name the kind of a component's argument: "string", "number", "" for none."""
    if component.arg is None:
        return ""
    return "string" if isinstance(component.arg, n.String) else "number"


def is_wild(name: str) -> bool:
    """Tell whether a component's name holds a wildcard."""
    return "*" in name


def is_internal(alias: str) -> bool:
    """Tell whether a tapset has an alias for itself only: its name begins with ``__``.

    `vfs.__set_page_dirty_buffers`, named for its function, is for all.
    """
    return alias.startswith("__")


def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*+)", pattern)
    text = ""
    for part in parts:
        if part.startswith("**"):
            text += ".*"
        elif part == "*":
            text += "[^.]*"
        else:
            text += re.escape(part)
    return re.compile(text + r"\Z")


class PointTree:
    """The tree, and matching.

    Below the first words in use only: what else families and the library have is not loaded.
    """

    def __init__(self, names: SymbolTable) -> None:
        self.root = PointNode()
        _enter_others(self.root)
        self._built_in = {word for words in FIRST_WORDS.values() for word in words}  # to be entered
        self._names = names
        self._user_aliases = 0
        self._exact: frozenset[str] | None = None
        self._waiting: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for row in names.services.library.alias_names():
            self._waiting.setdefault(row[0][0], []).append(row)
        self.refresh()

    def _enter(self, name: str) -> None:
        """Enter what begins with ``name``: points of families, aliases of the library.

        All of them for a wildcard, and all families for a name that nothing begins with.
        """
        self._enter_families(name)
        if is_wild(name):
            found = [row for rows in self._waiting.values() for row in rows]
            self._waiting = {}
        else:
            found = self._waiting.pop(name, [])
        for components, path in dict.fromkeys(found):
            self._at(components).aliases.append(self._loader(components, path))

    def _enter_families(self, name: str) -> None:
        words = {_PROGRAMS if name == builds.WORD else name} & self._built_in
        is_unknown = not words and name not in self.root.children and name not in self._waiting
        if is_unknown or is_wild(name):
            words = set(self._built_in)
        self._built_in -= words
        for word in words:
            for family in families_of(word):
                _enter_family(self.root, family, word)

    def refresh(self) -> None:
        """Enter the aliases of user files that came since the last call."""
        for source in self._names.aliases[self._user_aliases :]:
            node = self.root
            for component in source.decl.name:
                node = node.child(component.name, kind_of(component))
            node.aliases.append(functools.partial(_alone, source))
        self._user_aliases = len(self._names.aliases)

    def _at(self, components: tuple[str, ...]) -> PointNode:
        node = self.root
        for name in components:
            node = node.child(name, "")
        return node

    def _loader(self, components: tuple[str, ...], path: str) -> Callable[[], list[AliasSource]]:
        def load() -> list[AliasSource]:
            file = self._names.alias_file(path)
            if file is None:
                return []
            return [
                AliasSource(decl, file)
                for decl in file.script.decls
                if isinstance(decl, n.AliasDecl) and tuple(c.name for c in decl.name) == components
            ]

        return load

    # --- matching -------------------------------------------------------

    def match(self, components: list[n.PointComponent]) -> tuple[list[PointMatch], Mismatch | None]:
        """Find every place that a point leads to; the mismatch when there is none."""
        self._enter(components[0].name)
        failures: list[tuple[int, Mismatch]] = []
        hits = list(self._walk(self.root, components, 0, [], failures))
        if hits or not failures:
            return hits, None
        deepest = max(failures, key=lambda f: f[0])[1]
        if deepest.ends_early:
            return [], self._at_wildcard(deepest, components)
        return [], deepest

    def _at_wildcard(self, found: Mismatch, components: list[n.PointComponent]) -> Mismatch:
        """Move the mismatch of a point that ends early to its wildcard, if it has one."""
        wild = next((at for at, one in enumerate(components) if is_wild(one.name)), None)
        if wild is None or "**" in components[wild].name or len(found.parent) <= wild:
            return found
        node = self.root
        for component in found.parent[:wild]:
            node = node.children[component.name][kind_of(component)]
        regex = _regex(components[wild].name)
        names = sorted(name for name in node.children if regex.match(name))
        return Mismatch(components[wild], found.parent[:wild], names, [])

    def _walk(
        self,
        node: PointNode,
        components: list[n.PointComponent],
        at: int,
        done: list[n.PointComponent],
        failures: list[tuple[int, Mismatch]],
    ) -> Iterator[PointMatch]:
        if at == len(components):
            if node.family is not None or node.aliases or node.interpreted:
                yield PointMatch(node, done, [])
            elif at:
                names = sorted(node.children)
                failures.append((at, Mismatch(components[-1], done, names, [], ends_early=True)))
            return
        component = components[at]
        found = False
        if "**" in component.name:
            for path, below in self._deep(node, component):
                found = True
                yield from self._walk(below, components, at + 1, done + path, failures)
        else:
            kind = kind_of(component)
            for name in self._names_like(node, component.name):
                below_kind = node.children[name].get(kind)
                if below_kind is not None:
                    found = True
                    step = replace(component, name=name)
                    yield from self._walk(below_kind, components, at + 1, [*done, step], failures)
        if found:
            return
        if node.aliases and at:
            yield PointMatch(node, done, components[at:])
            return
        kinds = sorted(node.children.get(component.name, {}))
        is_suffix = node.family is not None and not node.children
        known = set(node.children)
        if node is self.root:
            known.update(self._waiting)
        mismatch = Mismatch(component, done, sorted(known), kinds, is_suffix)
        failures.append((at, mismatch))

    def _names_like(self, node: PointNode, pattern: str) -> list[str]:
        if not is_wild(pattern):
            return [pattern] if pattern in node.children else []
        regex = _regex(pattern)
        left_out = self._left_out(node, pattern)
        return sorted(name for name in node.children if regex.match(name) and name not in left_out)

    def _left_out(self, node: PointNode, pattern: str) -> frozenset[str]:
        """List the names below a node that no wildcard means, or this one does not."""
        if node is not self.root or is_internal(pattern):
            return self._exact_names()
        return self._exact_names().union(filter(is_internal, node.children))

    def _exact_names(self) -> frozenset[str]:
        """List second spellings of system calls: a wildcard would count those calls twice."""
        if self._exact is None:
            self._exact = frozenset(self._names.services.library.exact_alias_names())
        return self._exact

    def _deep(
        self, node: PointNode, component: n.PointComponent
    ) -> Iterator[tuple[list[n.PointComponent], PointNode]]:
        """Yield the paths of any length below ``node`` that a name with ``**`` matches."""
        regex = _regex(component.name)
        kind = kind_of(component)
        stack: list[tuple[PointNode, tuple[str, ...]]] = [(node, ())]
        found: list[tuple[tuple[str, ...], PointNode]] = []
        while stack:
            place, path = stack.pop()
            left_out = self._left_out(place, component.name)
            for name, kinds in place.children.items():
                if name in left_out:
                    continue
                whole = (*path, name)
                if kind in kinds and regex.match(".".join(whole)):
                    found.append((whole, kinds[kind]))
                if "" in kinds:
                    stack.append((kinds[""], whole))
        for whole, below in sorted(found, key=lambda item: item[0]):
            steps = [n.PointComponent(component.span, name) for name in whole]
            steps[-1] = replace(steps[-1], arg=component.arg)
            yield steps, below

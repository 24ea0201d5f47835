"""A regular expression as a graph of places: what an automaton's states are lists of."""

from __future__ import annotations

from typing import NamedTuple

from stapy.ir import regex as rx
from stapy.record import Record, new

MAX_STATES = 4000
MAX_GROUPS = 15
HERE = -1  # in a register map: the present position
UNSET = -2

Registers = tuple[int, ...]


class Item(NamedTuple):
    """A place in the pattern and the registers of the way that led there."""

    node: int
    registers: Registers


class Read(Record):
    """One byte of a set, then the node ``after``."""

    members: frozenset[int]
    after: int


class Split(Record):
    """Ways to go on, the preferred one first."""

    ways: list[int] = new(list)


class Tag(Record):
    """Remember this place in the text under a number."""

    number: int
    after: int


class Edge(Record):
    """Go on at the beginning (``^``) or the end (``$``) of the text only."""

    kind: str
    after: int


class Accept(Record):
    """The whole pattern has matched."""


GraphNode = Read | Split | Tag | Edge | Accept


class Graph:
    """The pattern's nodes by number; ``loop`` begins it at any place of the text."""

    def __init__(self, parsed: rx.Parsed, tagged: bool) -> None:
        self.nodes: list[GraphNode] = []
        self.tagged = tagged
        end = self._add(Accept())
        if tagged:
            end = self._add(Tag(1, end))
        start = self._node(parsed.root, end)
        if tagged:
            start = self._add(Tag(0, start))
        everywhere = Split()
        self.loop = self._add(everywhere)
        everywhere.ways = [start, self._add(Read(rx.EVERYTHING, self.loop))]

    def _add(self, node: GraphNode) -> int:
        self.nodes.append(node)
        if len(self.nodes) > 20 * MAX_STATES:
            raise rx.RegexError("too large", 0)
        return len(self.nodes) - 1

    def _node(self, node: rx.RegexNode, after: int) -> int:
        if isinstance(node, rx.Chars):
            return self._add(Read(node.members, after))
        if isinstance(node, rx.Anchor):
            return self._add(Edge(node.kind, after))
        if isinstance(node, rx.Sequence):
            for part in reversed(node.parts):
                after = self._node(part, after)
            return after
        if isinstance(node, rx.Alternation):
            return self._add(Split([self._node(one, after) for one in node.options]))
        if isinstance(node, rx.Group):
            if not self.tagged or node.number > MAX_GROUPS:
                return self._node(node.inner, after)
            closing = self._add(Tag(2 * node.number + 1, after))
            return self._add(Tag(2 * node.number, self._node(node.inner, closing)))
        assert isinstance(node, rx.Repeat)
        if node.high is None:
            again = Split()
            loop = self._add(again)
            again.ways = [self._node(node.inner, loop), after]
            after = loop
        else:
            for _ in range(node.high - node.low):
                after = self._add(Split([self._node(node.inner, after), after]))
        for _ in range(node.low):
            after = self._node(node.inner, after)
        return after

    def closure(self, seeds: list[Item], at_begin: bool, at_end: bool) -> list[Item]:
        """Find the places where characters are read, in order of priority."""
        done: list[Item] = []
        seen: set[int] = set()
        stack = list(reversed(seeds))
        while stack:
            item = stack.pop()
            if item.node in seen:
                continue
            seen.add(item.node)
            node = self.nodes[item.node]
            if isinstance(node, Split):
                stack += [Item(target, item.registers) for target in reversed(node.ways)]
            elif isinstance(node, Tag):
                at = node.number
                registers = (*item.registers[:at], HERE, *item.registers[at + 1 :])
                stack.append(Item(node.after, registers))
            elif isinstance(node, Edge) and (at_begin if node.kind == "^" else at_end):
                stack.append(Item(node.after, item.registers))
            elif not isinstance(node, Edge) or node.kind == "$":  # "$" waits for the end
                done.append(item)
        return done


def byte_classes(graph: Graph) -> tuple[list[int], list[int]]:
    """Sort bytes into classes of equal meaning; return each byte's class and a byte of each."""
    sets = {node.members for node in graph.nodes if isinstance(node, Read)}
    numbers: dict[tuple[bool, ...], int] = {}
    table: list[int] = []
    samples: list[int] = []
    for byte in range(256):
        key = tuple(byte in one for one in sets)
        if key not in numbers:
            numbers[key] = len(numbers)
            samples.append(byte)
        table.append(numbers[key])
    return table, samples

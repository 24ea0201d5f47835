"""Regular expressions to automata: everything is decided here, the kernel only walks tables.

Without groups it is a plain automaton that stops at the first match.  With
groups it is a tagged one: each state is an ordered list of positions in the
pattern, each with the registers that hold its group borders; a transition
moves registers.  The order gives priority (leftmost start, then greedy), and
the walk goes on as long as a longer match can come.
"""

from __future__ import annotations

from typing import NamedTuple

from stapy.ir import regex as rx
from stapy.record import Record, new

MAX_STATES = 4000
MAX_REGISTERS = 64
MAX_GROUPS = 15
HERE = -1  # in a register map: the present position
UNSET = -2

Registers = tuple[int, ...]


class Item(NamedTuple):
    """A place in the pattern and the registers of the way that led there."""

    node: int
    registers: Registers


class Automaton(Record):
    """Tables of one pattern; state 0 is dead."""

    classes: list[int]
    nclasses: int
    next: list[int]
    accept: list[int]  # 1: here, 2: when the text ends here
    groups: int = 0
    registers: int = 0
    start_moves: int = 0
    moves: list[int] = new(list)
    commands: list[int] = new(list)
    finals: list[int] = new(list)
    ends: list[int] = new(list)
    tags: list[int] = new(list)

    def c_text(self, name: str) -> str:
        """Write the tables as C, and the struct that holds them together."""
        parts = [
            _array("u8", f"{name}_classes", self.classes),
            _array("u16", f"{name}_next", self.next),
            _array("u8", f"{name}_accept", self.accept),
        ]
        fields = [
            f".classes = {name}_classes",
            f".next = {name}_next",
            f".accept = {name}_accept",
            f".nclasses = {self.nclasses}",
        ]
        if self.registers:
            parts += [
                _array("u16", f"{name}_moves", self.moves),
                _array("u8", f"{name}_commands", self.commands),
                _array("u16", f"{name}_finals", self.finals),
                _array("u16", f"{name}_ends", self.ends),
                _array("u8", f"{name}_tags", self.tags),
            ]
            fields += [
                f".moves = {name}_moves",
                f".commands = {name}_commands",
                f".finals = {name}_finals",
                f".ends = {name}_ends",
                f".tags = {name}_tags",
                f".start_moves = {self.start_moves}",
                f".groups = {self.groups}",
            ]
        inner = "".join(f"\t{field},\n" for field in fields)
        parts.append(f"static const struct stapy_regex {name} = {{\n{inner}}};\n")
        return "\n".join(parts)


def _array(kind: str, name: str, values: list[int]) -> str:
    lines = []
    current = "\t"
    for value in values or [0]:
        word = f"{value},"
        if len(current.expandtabs()) + len(word) + 1 > 96:
            lines.append(current.rstrip())
            current = "\t"
        current += word + " "
    lines.append(current.rstrip())
    inside = "\n".join(lines)
    return f"static const {kind} {name}[] = {{\n{inside}\n}};\n"


# --- the pattern as a graph -----------------------------------------------------


class _Read(Record):
    """One byte of a set, then the node ``after``."""

    members: frozenset[int]
    after: int


class _Split(Record):
    """Ways to go on, the preferred one first."""

    ways: list[int] = new(list)


class _Tag(Record):
    """Remember this place in the text under a number."""

    number: int
    after: int


class _Edge(Record):
    """Go on at the beginning (``^``) or the end (``$``) of the text only."""

    kind: str
    after: int


class _Accept(Record):
    """The whole pattern has matched."""


_GraphNode = _Read | _Split | _Tag | _Edge | _Accept


class _Graph:
    """The pattern's nodes by number; ``loop`` begins it at any place of the text."""

    def __init__(self, parsed: rx.Parsed, tagged: bool) -> None:
        self.nodes: list[_GraphNode] = []
        self.tagged = tagged
        end = self._add(_Accept())
        if tagged:
            end = self._add(_Tag(1, end))
        start = self._node(parsed.root, end)
        if tagged:
            start = self._add(_Tag(0, start))
        everywhere = _Split()
        self.loop = self._add(everywhere)
        everywhere.ways = [start, self._add(_Read(rx.EVERYTHING, self.loop))]

    def _add(self, node: _GraphNode) -> int:
        self.nodes.append(node)
        if len(self.nodes) > 20 * MAX_STATES:
            raise rx.RegexError("too large", 0)
        return len(self.nodes) - 1

    def _node(self, node: rx.RegexNode, after: int) -> int:
        if isinstance(node, rx.Chars):
            return self._add(_Read(node.members, after))
        if isinstance(node, rx.Anchor):
            return self._add(_Edge(node.kind, after))
        if isinstance(node, rx.Sequence):
            for part in reversed(node.parts):
                after = self._node(part, after)
            return after
        if isinstance(node, rx.Alternation):
            return self._add(_Split([self._node(one, after) for one in node.options]))
        if isinstance(node, rx.Group):
            if not self.tagged or node.number > MAX_GROUPS:
                return self._node(node.inner, after)
            closing = self._add(_Tag(2 * node.number + 1, after))
            return self._add(_Tag(2 * node.number, self._node(node.inner, closing)))
        assert isinstance(node, rx.Repeat)
        if node.high is None:
            again = _Split()
            loop = self._add(again)
            again.ways = [self._node(node.inner, loop), after]
            after = loop
        else:
            for _ in range(node.high - node.low):
                after = self._add(_Split([self._node(node.inner, after), after]))
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
            if isinstance(node, _Split):
                stack += [Item(target, item.registers) for target in reversed(node.ways)]
            elif isinstance(node, _Tag):
                at = node.number
                registers = (*item.registers[:at], HERE, *item.registers[at + 1 :])
                stack.append(Item(node.after, registers))
            elif isinstance(node, _Edge) and (at_begin if node.kind == "^" else at_end):
                stack.append(Item(node.after, item.registers))
            elif not isinstance(node, _Edge) or node.kind == "$":  # "$" waits for the end
                done.append(item)
        return done


def _classes(graph: _Graph) -> tuple[list[int], list[int]]:
    """Sort bytes into classes of equal meaning; return each byte's class and a byte of each."""
    sets = {node.members for node in graph.nodes if isinstance(node, _Read)}
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


# --- the automaton ---------------------------------------------------------------


def build(pattern: str, keeps_groups: bool) -> Automaton:
    """Build the automaton of a pattern; raise `RegexError` for one that is wrong or too large."""
    parsed = rx.parse(pattern)
    graph = _Graph(parsed, keeps_groups)
    return _Builder(graph, min(parsed.groups, MAX_GROUPS) if keeps_groups else -1).run()


class _Builder:
    """Makes the states from the start on, each list of items once."""

    def __init__(self, graph: _Graph, groups: int) -> None:
        self.graph = graph
        self.tagged = groups >= 0
        self.groups = max(groups, 0)
        self.ntags = 2 * (groups + 1) if self.tagged else 0
        self.numbers: dict[tuple[Item, ...], int] = {}
        self.states: list[tuple[Item, ...]] = []
        self.commands: list[int] = [0xFF]
        self.command_at: dict[tuple[int, ...], int] = {(): 0}
        self.tags: list[int] = [0xFF] * self.ntags
        self.tags_at: dict[Registers, int] = {}
        self.registers = 0

    def run(self) -> Automaton:
        """Build all tables."""
        classes, samples = _classes(self.graph)
        self._state(())  # 0: dead
        seed = Item(self.graph.loop, (UNSET,) * self.ntags)
        start, start_moves = self._target(self.graph.closure([seed], True, False))
        assert start in (0, 1)
        table: list[int] = []
        moves: list[int] = []
        at = 0
        while at < len(self.states):
            items = self.states[at]
            stop = not self.tagged and self._match(items) is not None
            for sample in samples:
                seeds = [] if stop or not sample else self._step(items, sample)
                target, move = self._target(self.graph.closure(seeds, False, False))
                table.append(target)
                moves.append(move)
            at += 1
        return self._tables(classes, len(samples), table, moves, start_moves)

    def _step(self, items: tuple[Item, ...], byte: int) -> list[Item]:
        seeds = []
        for item in items:
            node = self.graph.nodes[item.node]
            if isinstance(node, _Read) and byte in node.members:
                seeds.append(Item(node.after, item.registers))
        return seeds

    def _match(self, items: tuple[Item, ...] | list[Item]) -> Item | None:
        nodes = self.graph.nodes
        return next((one for one in items if isinstance(nodes[one.node], _Accept)), None)

    def _target(self, items: list[Item]) -> tuple[int, int]:
        """Return the number of the state of some items, and of the moves that lead there."""
        items = self._cut(items)
        order: dict[int, int] = {}
        for item in items:
            for value in item.registers:
                if value != UNSET:
                    order.setdefault(value, len(order))
        if len(order) >= MAX_REGISTERS:
            raise rx.RegexError("too many groups at a time", 0)
        self.registers = max(self.registers, len(order))
        key = tuple(
            Item(item.node, tuple(order.get(value, UNSET) for value in item.registers))
            for item in items
        )
        pairs = [(new, old) for old, new in order.items() if new != old]
        return self._state(key), self._moves(pairs)

    def _cut(self, items: list[Item]) -> list[Item]:
        """Drop what comes after a match and started elsewhere: it can no longer be better."""
        if not self.tagged:
            return sorted(items)
        match = self._match(items)
        if match is None:
            return items
        at = items.index(match)
        same = [one for one in items[at + 1 :] if one.registers[0] == match.registers[0]]
        return items[: at + 1] + same

    def _state(self, key: tuple[Item, ...]) -> int:
        if key not in self.numbers:
            if len(self.states) >= MAX_STATES:
                raise rx.RegexError(f"needs more than {MAX_STATES} states", 0)
            self.numbers[key] = len(self.states)
            self.states.append(key)
        return self.numbers[key]

    def _moves(self, pairs: list[tuple[int, int]]) -> int:
        """Order moves so that none overwrites what is still needed; return where they begin."""
        scratch = MAX_REGISTERS - 1
        waiting = [(new, old) for new, old in pairs if old != HERE]
        done: list[tuple[int, int]] = []
        while waiting:
            needed = {old for _, old in waiting}
            free = [pair for pair in waiting if pair[0] not in needed]
            if free:
                done += free
                waiting = [pair for pair in waiting if pair not in free]
            else:
                new, _ = waiting[0]
                done.append((scratch, new))
                waiting = [(to, scratch if old == new else old) for to, old in waiting]
        done += [(new, 0xFE) for new, old in pairs if old == HERE]
        flat = tuple(number for pair in done for number in pair)
        if flat not in self.command_at:
            self.command_at[flat] = len(self.commands)
            self.commands += [*flat, 0xFF]
        return self.command_at[flat]

    def _final(self, item: Item) -> int:
        """Return where the registers of the groups of a match stand in the table of tags."""
        if item.registers not in self.tags_at:
            self.tags_at[item.registers] = len(self.tags)
            self.tags += [{HERE: 0xFE, UNSET: 0xFF}.get(value, value) for value in item.registers]
        return self.tags_at[item.registers]

    def _tables(
        self, classes: list[int], count: int, table: list[int], moves: list[int], start: int
    ) -> Automaton:
        accept: list[int] = []
        finals: list[int] = []
        ends: list[int] = []
        for items in self.states:
            here = self._match(items)
            end = self._match(self.graph.closure(list(items), False, True))
            accept.append((1 if here else 0) | (2 if end else 0))
            if self.tagged:
                finals.append(self._final(here) if here else 0)
                ends.append(self._final(end) if end else 0)
        if len(self.commands) > 0xFFFF or len(self.tags) > 0xFFFF:
            raise rx.RegexError("too large", 0)
        return Automaton(
            classes,
            count,
            table,
            accept,
            self.groups,
            self.registers if self.tagged else 0,
            start,
            moves,
            self.commands,
            finals,
            ends,
            self.tags,
        )


def search(automaton: Automaton, text: str) -> list[tuple[int, int]] | bool | None:
    """Find what the kernel's walk over the tables finds: for tests.

    Without groups True or None; with groups the borders of the match and of
    each group, (-1, -1) for one that took no part.
    """
    registers = [-1] * MAX_REGISTERS
    found: list[int] | None = None
    state = 1

    def run(offset: int, at: int) -> None:
        while automaton.commands[offset] != 0xFF:
            to, source = automaton.commands[offset : offset + 2]
            registers[to] = at if source == 0xFE else registers[source]
            offset += 2

    def take(offset: int, at: int) -> list[int]:
        tags = automaton.tags[offset : offset + 2 * (automaton.groups + 1)]
        return [{0xFE: at, 0xFF: -1}.get(tag, registers[tag % MAX_REGISTERS]) for tag in tags]

    tagged = bool(automaton.finals)
    if tagged:
        run(automaton.start_moves, 0)
    data = text.encode("latin-1")
    for at in range(len(data) + 1):
        accept = automaton.accept[state]
        last = at == len(data)
        if accept & 1 or (last and accept & 2):
            if not tagged:
                return True
            where = automaton.ends if last and accept & 2 else automaton.finals
            found = take(where[state], at)
        if last:
            break
        step = state * automaton.nclasses + automaton.classes[data[at]]
        if tagged:
            run(automaton.moves[step], at + 1)
        state = automaton.next[step]
        if not state:
            break
    if found is None:
        return None
    return list(zip(found[::2], found[1::2], strict=True))

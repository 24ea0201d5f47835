"""Regular expressions to automata: everything is decided here, the kernel only walks tables.

Without groups it is a plain automaton that stops at the first match.  With
groups it is a tagged one: each state is an ordered list of positions in the
pattern, each with the registers that hold its group borders; a transition
moves registers.  The order gives priority (leftmost start, then greedy), and
the walk goes on as long as a longer match can come.
"""

from __future__ import annotations

from stapy.ir import regex as rx
from stapy.translate.tables.automaton import MAX_REGISTERS, Automaton
from stapy.translate.tables.regex_graph import (
    HERE,
    MAX_GROUPS,
    MAX_STATES,
    UNSET,
    Accept,
    Graph,
    Item,
    Read,
    Registers,
    byte_classes,
)


def build(pattern: str, keeps_groups: bool) -> Automaton:
    """Build the automaton of a pattern; raise `RegexError` for one that is wrong or too large."""
    parsed = rx.parse(pattern)
    graph = Graph(parsed, keeps_groups)
    return _Builder(graph, min(parsed.groups, MAX_GROUPS) if keeps_groups else -1).run()


class _Builder:
    """Makes the states from the start on, each list of items once."""

    def __init__(self, graph: Graph, groups: int) -> None:
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
        classes, samples = byte_classes(self.graph)
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
            if isinstance(node, Read) and byte in node.members:
                seeds.append(Item(node.after, item.registers))
        return seeds

    def _match(self, items: tuple[Item, ...] | list[Item]) -> Item | None:
        nodes = self.graph.nodes
        return next((one for one in items if isinstance(nodes[one.node], Accept)), None)

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

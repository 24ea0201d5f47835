"""The tables of one regular expression, as the kernel walks over them."""

from __future__ import annotations

from stapy.record import Record, new

MAX_REGISTERS = 64


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

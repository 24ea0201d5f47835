"""The runtime's objects of one kit, each compiled when a module first needs it.

A script uses a part of the runtime, and compiling all of it was half of what a
new kit cost.  So the kit holds only a list of which file defines what; an
object is an entry of its own in the cache, made by whoever is the first to
miss it.  Two that miss it at once both make it, and the bytes are the same.

What the text of the C mentions is compiled beside the script; the undefined
symbols of the objects then tell exactly what must be linked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.commands import fill
from stapy.build.modpost import global_names
from stapy.build.units import RuntimeUnit, units
from stapy.cache import Cache, key_of
from stapy.debuginfo.elf import ElfFile

if TYPE_CHECKING:
    from stapy.build.kit import Kit
    from stapy.build.process import Result

KIND = "unit"
# A line that begins a definition of something that other files see, or looks like one.
_OUTSIDE = re.compile(r"^(?!(?:static|typedef|extern)\b)[A-Za-z_].*", re.MULTILINE)
_ENTRY = re.compile(r"^module_init\(", re.MULTILINE)
# The tag of a structure says nothing about who needs what.
_NAME = re.compile(r"\b(?<!struct )(?<!enum )(?:stapy|_stp)_\w+")
_MISTAKE = re.compile(r"^[^\s:]+:\d+:(\d+:)? (fatal )?error:", re.MULTILINE)
_REFUSED = b"refused\n"


def owners(runtime: Path, members: Iterable[str]) -> dict[str, list[str]]:
    """Map each word that a file of the runtime may define to the files that may.

    It may name too many, since it only looks where definitions stand; the names
    of the module's two entries come from the macro that makes them.
    """
    found: dict[str, list[str]] = {}
    for member in members:
        text = (runtime / member).read_text()
        words = {word for line in _OUTSIDE.findall(text) for word in _NAME.findall(line)}
        if _ENTRY.search(text):
            words |= {"init_module", "cleanup_module"}
        for word in words:
            found.setdefault(word, []).append(member)
    return {word: found[word] for word in sorted(found)}


class RuntimeObjects:
    """The objects that one module takes from the runtime.

    ``broken`` maps files that this kernel's compiler refused to its words.
    """

    def __init__(self, kit: Kit, runtime: Path, cache: Cache, scratch: Path) -> None:
        self.kit = kit
        self.runtime = runtime
        self.cache = cache
        self.folder = scratch / "runtime"
        self.cpu = 0.0
        self.broken: dict[str, str] = {}
        self.owners = kit.owners
        self._units = {member: unit for unit in units(kit.members) for member in unit.members}
        self._objects: dict[str, str] = {}

    # --- what is needed --------------------------------------------------

    def mentioned(self, text: str) -> list[RuntimeUnit]:
        """List the units that C text names and that nobody has compiled yet, largest first."""
        if all(self.has(unit) for unit in self.units()):
            return []
        words = {*_NAME.findall(text), "init_module"}
        return [unit for unit in self.owners_of(words) if not self.has(unit)]

    def owners_of(self, names: Iterable[str]) -> list[RuntimeUnit]:
        """List the units that may define some of these names, in the order of `units`."""
        members = {member for name in names for member in self.owners.get(name, ())}
        return [unit for unit in self.units() if members & set(unit.members)]

    def units(self) -> list[RuntimeUnit]:
        """List all units, each once."""
        return list({unit.name: unit for unit in self._units.values()}.values())

    def close(self, objects: list[str]) -> list[str]:
        """Provide the runtime's objects that these need; return their paths.

        A damaged one is a `DebuginfoError`.
        """
        defined: set[str] = set()
        needed: set[str] = set()
        taken: set[str] = set()
        more = objects
        while more:
            for path in more:
                names = global_names(ElfFile.open(Path(path)))
                defined |= names.defined
                needed |= names.undefined
            self.provide(self.owners_of(needed - defined))
            new = {unit.name for unit in self.owners_of(needed - defined)} - taken
            more = [self._objects[name] for name in new if name in self._objects]
            taken |= new
        # In an order that does not depend on where they lie.
        return [self._objects[u.name] for u in self.units() if u.name in taken & set(self._objects)]

    # --- compiling -------------------------------------------------------

    def has(self, unit: RuntimeUnit) -> bool:
        """Take what the cache knows of a unit; false when it must be compiled."""
        if unit.name in self._objects or unit.members[0] in self.broken:
            return True
        path = self.cache.get(KIND, self.key(unit))
        if path is None:
            return False
        with path.open("rb") as file:
            refused = file.read(len(_REFUSED)) == _REFUSED
            words = file.read() if refused else b""
        if not refused:
            self._objects[unit.name] = str(path)
            return True
        self.refuse(unit, words.decode())
        return True

    def key(self, unit: RuntimeUnit) -> str:
        """Name the object's content."""
        return key_of(self.kit.key, self.kit.seal, unit.name, *unit.members)

    def provide(self, wanted: list[RuntimeUnit]) -> None:
        """Compile what is missing of these units; members of a refused unit one by one."""
        missing = [unit for unit in wanted if not self.has(unit)]
        if missing:
            width = min(len(os.sched_getaffinity(0)), 4)
            commands = [self.command(unit) for unit in missing]
            environment = self.kit.commands.environment
            self.take(missing, self.kit.tools.run_many(commands, environment, width))
        apart = [self._units[m] for unit in wanted for m in unit.members if len(unit.members) > 1]
        again = [unit for unit in apart if len(unit.members) == 1]
        if again:
            self.provide(again)

    def provide_all(self) -> None:
        """Compile all that is still missing: who defines what is then known from the objects.

        And what this kernel refuses.
        """
        self.provide(self.units())
        self.owners = {}
        for unit in self.units():
            if unit.name in self._objects:
                for name in global_names(ElfFile.open(Path(self._objects[unit.name]))).defined:
                    self.owners.setdefault(name, []).append(unit.members[0])

    def refused(self) -> set[str]:
        """Name the files in which a compiler has found a mistake.

        One that was killed, or met a full disk, says nothing about a file.
        """
        return {member for member, words in self.broken.items() if _MISTAKE.search(words)}

    def command(self, unit: RuntimeUnit) -> list[str]:
        """Build the call of the compiler for one unit."""
        self.folder.mkdir(exist_ok=True)
        words = self.kit.compile_words(self.runtime)
        return fill(
            words, SOURCE=str(unit.source(self.runtime, self.folder)), OBJECT=self.object(unit)
        )

    def object(self, unit: RuntimeUnit) -> str:
        """Return where the compiler puts a unit's object."""
        return str(self.folder / f"{unit.name}.o")

    def take(self, compiled: list[RuntimeUnit], results: list[Result]) -> None:
        """Finish what came out of the compiler as kbuild does, then put it into the cache."""
        for unit, done in zip(compiled, results):
            self.cpu += done.cpu
            for step in self.kit.commands.after_compile:
                if done.status == 0:
                    words = fill(step, OBJECT=self.object(unit))
                    done = self.kit.tools.run(words, self.kit.commands.environment)
                    self.cpu += done.cpu
            if done.status == 0:
                stored = self.cache.put_file(KIND, self.key(unit), Path(self.object(unit)))
                self._objects[unit.name] = str(stored or self.object(unit))
            else:
                # A full disk or a killed compiler says nothing about the kernel.
                if _MISTAKE.search(done.output):
                    self.cache.put_bytes(KIND, self.key(unit), _REFUSED + done.output.encode())
                self.refuse(unit, done.output)

    def refuse(self, unit: RuntimeUnit, words: str) -> None:
        """Note a file that this kernel refuses; split a unit, so that its neighbours live on."""
        if len(unit.members) == 1:
            self.broken[unit.members[0]] = words
            return
        for part in unit.apart():
            self._units[part.members[0]] = part

"""The short way from C to a module: precompiled header, ready runtime, our own CRC table.

Everything here may give up with `NoShortWay`; the caller then lets kbuild do it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build import modpost
from stapy.build.commands import fill
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record
from stapy.translate.manifest import assembly as manifest_assembly
from stapy.translate.manifest import encode

if TYPE_CHECKING:
    from stapy.build.kit import Kit
    from stapy.build.process import Result
    from stapy.build.runtime_objects import RuntimeObjects
    from stapy.kernel.exports import Exports
    from stapy.translate.source import ModuleSource

# Characters of C from which on the compiler gets -O1: 8000 lines take 1.1 s instead of 1.9 s,
# and what such scripts run is mostly the runtime, which was compiled with the kernel's -O2.
LARGE = 96 * 1024
# Where pointers lead costs gcc a tenth of its time then, and is worth nothing: of 772 functions of
# a script of a thousand probes none has an instruction more without it. Others lack the option.
_OF_GCC = ("-fno-tree-pta",)


class NoShortWay(Exception):
    """The kit cannot make this module; ``log`` is what the tools printed.

    ``by_compiler`` is true when it was the compiler that refused the C.
    """

    def __init__(self, reason: str, log: str = "", by_compiler: bool = False) -> None:
        super().__init__(reason)
        self.log = log
        self.by_compiler = by_compiler


class ImportsRefused(Exception):
    """The module needs what the kernel does not give: an answer, not a reason to ask kbuild."""

    def __init__(self, imports: modpost.Imports) -> None:
        super().__init__("imports refused")
        self.imports = imports


class Job(Record):
    """One module to make: its source, the kit, the runtime's folder, a folder to work in."""

    source: ModuleSource
    kit: Kit
    runtime_objects: RuntimeObjects
    runtime: Path
    exports: Exports
    folder: Path
    digest: str


class ShortWay:
    """Makes one module by a kit."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.cpu = 0.0
        self.log: list[str] = []
        self.environment = job.kit.commands.environment
        self.tools = job.kit.tools

    def make(self) -> Path:
        """Make the module; return its path."""
        objects = self.compile()
        linked = self.link(objects)
        try:
            tables = self.tables(linked)
        except ImportsRefused as refused:
            if not refused.imports.missing:
                raise
            # Perhaps a name whose definition looks like none.
            self.job.runtime_objects.provide_all()
            linked = self.link(objects)
            tables = self.tables(linked)
        return self.finish(linked, tables)

    # --- steps -----------------------------------------------------------

    def compile(self) -> list[str]:
        """Compile each C file, the first one with the module's description; list the objects."""
        words = self.job.kit.compile_words(self.job.runtime)
        if sum(len(text) for text in self.job.source.files.values()) > LARGE:
            less = ["-O1", *(_OF_GCC if "gcc" in Path(words[0]).name else ())]
            words = [one for word in words for one in (less if word == "-O2" else [word])]
        defines = [f"-D{name}={value}" for name, value in self.job.source.defines.items()]
        commands: list[list[str]] = []
        objects: list[str] = []
        for name, data in self.job.source.blobs.items():
            (self.job.folder / name).write_bytes(data)
        for name, text in self.job.source.files.items():
            path = self.job.folder / name
            path.write_text(text)
            if path.suffix == ".c":
                if not objects:
                    path = self.unit(path)
                objects.append(str(self.job.folder / (path.stem + ".o")))
                own = [words[0], f"-I{self.job.folder}", *defines, *words[1:]]
                own.insert(-1, f"-fmacro-prefix-map={self.job.folder}/=")
                commands.append(fill(own, SOURCE=str(path), OBJECT=objects[-1]))
        if not objects:
            raise NoShortWay("there is no C file")
        self.run_compilers(commands)
        for step in self.job.kit.commands.after_compile:
            for path_ in objects:
                self.run(fill(step, OBJECT=path_))
        return objects

    def run_compilers(self, commands: list[list[str]]) -> None:
        """Compile the script's files, and beside them the runtime's units that they mention."""
        runtime_objects = self.job.runtime_objects
        units = runtime_objects.mentioned("".join(self.job.source.files.values()))
        ours = [runtime_objects.command(unit) for unit in units]

        def start() -> list[Result]:
            # The first unit takes longer than anything of a small script.
            words = [*ours[:1], *commands, *ours[1:]]
            width = min(len(os.sched_getaffinity(0)), 4)
            done = self.tools.run_many(words, self.environment, width)
            runtime_objects.take(
                units, [*done[: len(ours[:1])], *done[len(ours[:1]) + len(commands) :]]
            )
            return done[len(ours[:1]) :][: len(commands)]

        self.take(start, "the compiler failed", True)

    def unit(self, script: Path) -> Path:
        """Join the script's file and the module's description for one run of the compiler."""
        path = self.job.folder / "stapy-unit.c"
        path.write_text(
            f'#include "{script.name}"\n'
            f'#define STAPY_MODULE_NAME "{self.job.source.name}"\n'
            f'#include "{self.job.kit.folder}/module.c"\n'
        )
        return path

    def link(self, objects: list[str]) -> str:
        """Link the script and the units of the runtime that it needs; return the object's path."""
        linked = str(self.job.folder / f"{self.job.source.name}.o")
        commands = self.job.kit.commands
        try:
            ours = self.job.runtime_objects.close(objects)
        except (DebuginfoError, OSError) as error:
            raise NoShortWay(f"the runtime could not be linked: {error}") from error
        self.run(fill(commands.link, OUTPUT=linked, INPUTS=[*objects, *ours]))
        for step in commands.after_link:
            self.run(fill(step, OUTPUT=linked))
        return linked

    def tables(self, linked: str) -> str:
        """Make the object with CRCs, dependencies and the manifest; return its path."""
        exports = self.job.exports
        if not exports.is_known:
            raise NoShortWay("the kernel's headers have no Module.symvers")
        try:
            imports = modpost.resolve(ElfFile.open(Path(linked)), exports)
        except DebuginfoError as error:
            raise NoShortWay(f"the CRC table could not be made: {error}") from error
        if imports.missing or imports.refused:
            raise ImportsRefused(imports)
        if modpost.too_long(imports):
            raise NoShortWay("a symbol's name is too long for the CRC table")
        data = self.job.folder / "manifest.json"
        data.write_bytes(encode(self.job.source.manifest))
        text = modpost.assembly(imports, exports, self.job.kit.commands.versions)
        source = self.job.folder / "stapy-tables.s"
        source.write_text(text + manifest_assembly(str(data), self.job.digest))
        target = str(self.job.folder / "stapy-tables.o")
        words = self.job.kit.commands.compile
        machine = [word for word in words[1:] if word in ("-m64", "-m32", "-mbig-endian")]
        self.run([words[0], *machine, "-c", "-o", target, str(source)])
        return target

    def finish(self, linked: str, tables: str) -> Path:
        """Link the module by the kernel's linker script; return its path."""
        inputs = [linked, tables]
        common = self.job.kit.folder / "common.o"
        if self.job.kit.commands.common:
            inputs.append(str(common))
        module = self.job.folder / f"{self.job.source.name}.ko"
        self.run(fill(self.job.kit.commands.final, OUTPUT=str(module), INPUTS=inputs))
        return module

    # --- tools -----------------------------------------------------------

    def run(self, words: list[str]) -> None:
        """Run one tool."""
        self.take(
            lambda: [self.tools.run(words, self.environment)], f"{Path(words[0]).name} failed"
        )

    def take(
        self, start: Callable[[], list[Result]], failure: str, by_compiler: bool = False
    ) -> None:
        """Run tools, keep what they print; `NoShortWay` when one fails."""
        try:
            results = start()
        except OSError as error:
            raise NoShortWay(f"{failure}: {error.strerror}") from error
        self.cpu += sum(result.cpu for result in results)
        self.log += [result.output for result in results if result.output]
        if any(result.status for result in results):
            raise NoShortWay(failure, "".join(self.log), by_compiler)

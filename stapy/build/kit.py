"""The build kit: all of a module that does not depend on the script, made once per kernel.

A folder in the cache with

- ``kit.json``      the kernel's own commands (see `commands`), and which file defines what
- ``prefix.h(.gch)``  the precompiled ``stapy.h``
- ``kernel_facts.h``  what the runtime asks about this kernel
- ``module.c``      the C of the module description
- ``common.o``      the object of newer kernels that goes into every module

The runtime's objects are made when they are needed, see `runtime_objects`.  The kit is
keyed by the kernel's build tree, the runtime's text, our own, and the flags that our
environment has for a kernel's make; the compiler is compared when the kit is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Protocol

from stapy import __version__
from stapy.build.commands import CaptureError, Commands, capture, fill, load
from stapy.build.runtime_objects import owners
from stapy.build.tools import HERE, Tools
from stapy.cache import Cache, file_identity, key_of
from stapy.paths import exists
from stapy.record import Record
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.build.process import Result
    from stapy.kernel.exports import Exports

KIND = "kit"
# What changes when headers of the same release are installed anew.
_TREE_FILES = (
    "Module.symvers",
    ".config",
    "include/config/auto.conf",
    "include/generated/autoconf.h",
    "include/generated/utsrelease.h",
    "include/generated/compile.h",
)
# What a kernel's make adds to the commands that the kit learns from it.
_MAKE_FLAGS = ("KCFLAGS", "KCPPFLAGS", "KAFLAGS")


class BuildKernel(Protocol):
    """The part of `stapy.kernel`'s record that pass 4 reads."""

    release: str
    arch: str
    build_dir: Path | None
    image: Path | None
    exports: Exports


class KitError(Exception):
    """No kit could be made; ``log`` is what the tools printed, ``stage`` where it stopped.

    Stages: "kbuild" (not even an empty module), "headers" (stapy.h does not
    compile), "tools" (a program is missing).
    """

    def __init__(self, stage: str, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.stage = stage
        self.log = log


class Kit(Record):
    """An opened kit.

    ``seal`` names what its objects are made with; ``members`` are the runtime's C
    files, ``owners`` those that may define a name, see `runtime_objects.owners`.
    """

    folder: Path
    key: str
    commands: Commands
    seal: str
    members: list[str]
    owners: dict[str, list[str]]
    cpu: float = 0.0
    tools: Tools = HERE

    def compile_words(self, runtime: Path) -> list[str]:
        """Return the compile command with the precompiled header in front."""
        return compile_words(self.commands, self.folder, runtime)


def compile_words(commands: Commands, folder: Path, runtime: Path) -> list[str]:
    """Return the kernel's compile command; the precompiled header must be its first include.

    clang's precompiled header names the files that it is of. Those of the kit, which comes into
    the cache once it is whole, it is to look for in the folder where the kit is: ``-isysroot``.
    """
    words = commands.compile
    return [
        words[0],
        *(["-isysroot", str(folder)] if _is_clang(words[0]) else []),
        "-include",
        str(folder / "prefix.h"),
        f"-I{folder}",
        f"-I{runtime}",
        f"-fmacro-prefix-map={runtime}/=",
        *_without_includes(words[1:])[0],
    ]


def _is_clang(program: str) -> bool:
    return Path(program).name.startswith("clang")


def _without_includes(words: list[str]) -> tuple[list[str], list[str]]:
    """Split ``-include X`` off ``words``; return the rest and the ``X``s, for ``prefix.h``."""
    rest: list[str] = []
    headers: list[str] = []
    at = 0
    while at < len(words):
        if words[at] == "-include" and at + 1 < len(words):
            headers.append(words[at + 1])
            at += 2
        else:
            rest.append(words[at])
            at += 1
    return rest, headers


def runtime_files(runtime: Path) -> list[Path]:
    """List every C file and header of the runtime, sorted."""
    return sorted(path for path in runtime.rglob("*") if path.suffix in (".c", ".h", ".S"))


_keys: dict[tuple[str, Path, str], str] = {}


def kit_key(kernel: BuildKernel, runtime: Path, tools: Tools = HERE) -> str:
    """Name the content of the kit for this kernel, this runtime, this stapy and these tools.

    Asked for several times by each session, made once.
    """
    flags = "\0".join(os.environ.get(name, "") for name in _MAKE_FLAGS)
    name = (f"{kernel.build_dir} {kernel.release} {kernel.image}", runtime, flags)
    if name not in _keys:
        _keys[name] = _make_key(kernel, runtime, flags)
    return key_of(_keys[name], tools.identity) if tools.identity else _keys[name]


def _make_key(kernel: BuildKernel, runtime: Path, flags: str) -> str:
    parts: list[object] = [__version__, kernel.release, kernel.arch, flags]
    tree = kernel.build_dir
    files = [tree / name for name in _TREE_FILES] if tree else []
    # The facts come from the image's BTF, when there is an image.
    for file in (*files, *([kernel.image] if kernel.image else [])):
        try:
            parts.append(file_identity(file))
        except OSError:
            parts.append(file.name)
    for path in runtime_files(runtime):
        parts += [path.relative_to(runtime), path.read_bytes()]
    # Our own text too: a checkout changes without a new version.
    here = Path(__file__).parent
    for own in (
        here / "kit.py",
        here / "commands.py",
        here / "units.py",
        here / "runtime_objects.py",
        here / "tools.py",
        here.parent / "debuginfo" / "facts.py",
    ):
        if exists(own):
            parts.append(own.read_bytes())
    return key_of(*parts)


def open_kit(
    kernel: BuildKernel,
    runtime: Path,
    cache: Cache,
    scratch: Path,
    facts: Callable[[], str],
    tools: Tools = HERE,
) -> Kit:
    """Load the kit from the cache, or make it; raise `KitError` when that cannot be done.

    With a cache that stores nothing the kit lives in ``scratch``.  ``facts`` is
    called only when a kit is made.
    """
    key = kit_key(kernel, runtime, tools)
    kit = _load(cache.get(KIND, key), key, tools)
    if kit is not None:
        return kit
    progress.tell(f"making the build kit for {kernel.release} (once)")
    with cache.lock(KIND, key):
        kit = _load(cache.get(KIND, key), key, tools)
        if kit is not None:
            return kit
        fresh = scratch / f"kit-{key[:8]}"
        cpu = _Maker(kernel, runtime, fresh, facts, tools).make()
        stored = cache.put_tree(KIND, key, fresh, may_link=True)
        kit = _load(stored or fresh, key, tools)
        if kit is None:
            raise KitError("tools", "the new build kit could not be read back")
        kit.cpu = cpu
        return kit


def _load(folder: Path | None, key: str, tools: Tools) -> Kit | None:
    """Open a kit; None when it is not there, damaged, or made by another compiler."""
    if folder is None:
        return None
    try:
        data = json.loads((folder / "kit.json").read_bytes())
        common = folder / "common.o"
        commands = load(data["commands"], common.read_bytes() if exists(common) else b"")
        if data["compiler"] != list(tools.stamp(commands.compile[0])):
            return None
        if not all(exists(folder / name) for name in ("prefix.h.gch", "module.c")):
            return None
        kit = Kit(folder, key, commands, data["seal"], data["members"], data["owners"])
        kit.tools = tools
        return kit
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


class _Maker:
    """Makes one kit in ``folder``."""

    def __init__(
        self,
        kernel: BuildKernel,
        runtime: Path,
        folder: Path,
        facts: Callable[[], str],
        tools: Tools,
    ) -> None:
        self.tools = tools
        self.kernel = kernel
        self.runtime = runtime
        self.folder = folder
        self.ask_facts = facts
        self.cpu = 0.0

    def make(self) -> float:
        """Make everything; return the CPU seconds that it took."""
        assert self.kernel.build_dir is not None
        try:
            self.commands, done = capture(self.kernel.build_dir, self.tools)
        except CaptureError as error:
            raise KitError("kbuild", str(error), error.log) from error
        except OSError as error:
            raise KitError("tools", f"{error.filename or 'make'}: {error.strerror}") from error
        self.cpu += done.cpu
        if exists(self.folder):  # --tmpdir, and a run before this one was interrupted
            rmtree(self.folder)
        self.folder.mkdir(parents=True)
        # Not before: meanwhile pass 2 has perhaps read what they are taken from.
        self.facts = self.ask_facts()
        self.write_texts()
        self.precompile()
        self.compile_common()
        self.write_description()
        return self.cpu

    def run(self, words: list[str]) -> Result:
        try:
            done = self.tools.run(words, self.commands.environment)
        except OSError as error:
            raise KitError("tools", f"{words[0]}: {error.strerror}") from error
        self.cpu += done.cpu
        return done

    def write_texts(self) -> None:
        headers = _without_includes(self.commands.compile)[1]
        lines = [f'#include "{name}"\n' for name in [*headers, "kernel_facts.h", "stapy.h"]]
        (self.folder / "prefix.h").write_text("".join(lines))
        (self.folder / "kernel_facts.h").write_text(self.facts)
        (self.folder / "module.c").write_text(self.commands.template)
        if self.commands.common:
            (self.folder / "common.o").write_bytes(self.commands.common)

    def precompile(self) -> None:
        words = compile_words(self.commands, self.folder, self.runtime)
        # The header is the source here, not an include of it.
        first = words.index("-include")
        del words[first : first + 2]
        if _is_clang(words[0]):
            # Our key is of what files hold: one that was installed again has another date only.
            words[1:1] = ["-Xclang", "-relocatable-pch", "-Xclang", "-fno-pch-timestamp"]
        at = words.index("-c") if "-c" in words else 0
        words[at : at + 1] = [] if not at else ["-x", "c-header"]
        header = self.folder / "prefix.h"
        done = self.run(fill(words, SOURCE=str(header), OBJECT=f"{header}.gch"))
        if done.status:
            raise KitError("headers", "stapy.h does not compile", done.output)

    def compile_common(self) -> None:
        """Compile the object that goes into every module, when kbuild did not make it for us."""
        source = self.commands.common_source
        if not source:
            return
        words = compile_words(self.commands, self.folder, self.runtime)
        done = self.run(fill(words, SOURCE=source, OBJECT=str(self.folder / "common.o")))
        if done.status:
            raise KitError("common", f"{source} does not compile", done.output)

    def write_description(self) -> None:
        members = [
            path.relative_to(self.runtime).as_posix()
            for path in runtime_files(self.runtime)
            if path.suffix == ".c"
        ]
        commands = self.commands.as_data()
        compiler = self.tools.stamp(self.commands.compile[0])
        data: dict[str, object] = {
            "commands": commands,
            "compiler": compiler,
            "seal": key_of(json.dumps(commands), *compiler, self.facts),
            "members": members,
            "owners": owners(self.runtime, members),
        }
        (self.folder / "kit.json").write_text(json.dumps(data))

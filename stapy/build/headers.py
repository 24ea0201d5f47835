"""Types out of headers: ``@cast(p, "type", "kernel<linux/fs.h>")`` compiles what it names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.commands import fill
from stapy.build.kit import BuildKernel, kit_key, open_kit
from stapy.build.tools import HERE, Tools
from stapy.cache import Cache, key_of
from stapy.paths import data_dir, is_file
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.build.process import Result
    from stapy.options import Options

KIND = "headers"
_SPEC = re.compile(r"(?P<owner>[\w-]*)(?P<headers>(?:<[^<>]+>|\"[^\"]+\")+)$")
_HEADER = re.compile(r"<[^<>]+>|\"[^\"]+\"")
# All types, also those that nothing in the headers uses.
_FLAGS = ["-g", "-gdwarf-5", "-fno-eliminate-unused-debug-types", "-w"]
_FOLDERS = (Path("/usr/include"), Path("/usr/include/x86_64-linux-gnu"), Path("/usr/local/include"))
_ERROR = re.compile(r"(?:fatal )?error: .*")


# What trace headers take for included, and what completes the structs that points pass: those
# that a kernel lacks are left out.
_BEFORE = """
    kernel sched fs mm skbuff netdevice blkdev blk-mq interrupt pagemap writeback workqueue device
    tcp timer hrtimer bio
"""
_UNKNOWN = re.compile(r"\Wtrace_(\w+)\W undeclared")
_UNKNOWN_TYPE = re.compile(r"unknown type name \W(\w+)\W")
# Stands for a type that is declared beside the kernel's code, whose size nobody knows here.
PRIVATE = "stapy_private"


class HeaderError(Exception):
    """The headers do not compile; the text is the compiler's first complaint."""

    output = ""  # all that it said


def is_headers(module: str) -> bool:
    """Tell whether a name is ``<a.h>`` or ``<a.h><b.h>``, perhaps behind ``kernel``."""
    return _SPEC.fullmatch(module) is not None


def is_of_kernel(spec: str) -> bool:
    """Tell the kernel's headers, compiled as its makefiles say, from the user's."""
    match = _SPEC.fullmatch(spec)
    return match is not None and match["owner"] in ("kernel", "vmlinux")


class HeaderCompiler(Record):
    """Compiles headers of the user and of one kernel to objects that have their types.

    Objects are kept in ``cache``; what has to be written goes to the folder ``scratch``.  The build
    kit, which the kernel's headers need, may have to be made: ``facts`` is for that.
    """

    kernel: BuildKernel
    options: Options
    cache: Cache
    scratch: Path
    facts: Callable[[], str]
    tools: Tools = HERE

    def types(self, spec: str) -> Path:
        """Compile ``<a.h><b.h>``, the kernel's with ``kernel`` in front, else the user's.

        Raises `HeaderError` when that fails.
        """
        match = _SPEC.fullmatch(spec)
        if match is None:
            raise HeaderError(f"'{spec}' names no headers")
        ours = is_of_kernel(spec)
        named = _HEADER.findall(match["headers"])
        owner = self._kit_key() if ours else _identity([name[1:-1] for name in named])
        key = key_of(KIND, owner, spec, *_FLAGS)
        found = self.cache.get(KIND, key)
        if found is not None:
            return found
        source, target = self._files(f"headers-{key[:8]}")
        source.write_text("".join(f"#include {name}\n" for name in named), encoding="utf-8")
        if ours:
            self._compile(source, target, _FLAGS)
        else:
            _run(["gcc", *_FLAGS, "-c", "-o", str(target), str(source)], HERE)
        return self.cache.put_file(KIND, key, target) or target

    def points(self, header: Path, points: list[str]) -> Path:
        """Compile a trace header to an object that has the inline function of each of its points.

        Points that the kernel was built without are left out, and types that none of its headers
        declares are pointers to a struct `PRIVATE`.  Raises `HeaderError`.
        """
        status = header.stat()
        key = key_of(KIND, "points", self._kit_key(), str(header), status.st_size,
                     status.st_mtime_ns, _BEFORE, *points)  # fmt: skip
        found = self.cache.get(KIND, key)
        if found is not None:
            return found
        source, target = self._files(f"points-{key[:8]}")
        private: set[str] = set()
        while True:  # each round has fewer points or more types
            source.write_text(_text_of_points(header, points, private), encoding="utf-8")
            try:
                self._compile(source, target, ["-g", "-gdwarf-5", "-w"])
            except HeaderError as error:
                unknown = set(points) & set(_UNKNOWN.findall(error.output))
                types = set(_UNKNOWN_TYPE.findall(error.output)) - private
                if not unknown and not types:
                    raise
                points = [point for point in points if point not in unknown or types]
                private |= types
            else:
                return self.cache.put_file(KIND, key, target) or target

    def _runtime(self) -> Path:
        named = self.options.runtime_dir
        return Path(named) if named else data_dir("runtime")

    def _kit_key(self) -> str:
        return kit_key(self.kernel, self._runtime(), self.tools)

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.scratch / f"{name}.c", self.scratch / f"{name}.o"

    def _compile(self, source: Path, target: Path, flags: list[str]) -> None:
        """Compile as the kernel's makefiles do, with what its make exports to compilers."""
        kit = open_kit(
            self.kernel, self._runtime(), self.cache, self.scratch, self.facts, self.tools
        )
        words = fill(kit.commands.compile, SOURCE=str(source), OBJECT=str(target))
        _run([*words, *flags], self.tools, kit.commands.environment)


def _text_of_points(header: Path, points: list[str], private: set[str]) -> str:
    """Write C in which the functions of points are not dropped, since their addresses are used."""
    before = (f"<linux/{name}.h>" for name in _BEFORE.split())
    lines = [f"#if __has_include({name})\n#include {name}\n#endif" for name in before]
    lines += [f"typedef struct {PRIVATE} *{name};" for name in sorted(private)]
    lines += [f'#include "{header}"']
    lines += [f"void *stapy_point_{point} = trace_{point};" for point in points]
    return "\n".join([*lines, ""])


def _run(words: list[str], tools: Tools, environment: dict[str, str] | None = None) -> None:
    """Run a compiler; raise `HeaderError` with its first complaint when it fails."""
    try:
        result: Result = tools.run(words, environment)
    except OSError as error:
        raise HeaderError(f"{words[0]}: {error.strerror}") from None
    if result.status:
        complaint = _ERROR.search(result.output)
        failed = HeaderError(complaint[0] if complaint else f"{words[0]} ends with {result.status}")
        failed.output = result.output
        raise failed


def _identity(headers: list[str]) -> str:
    """Name the state of the user's compiler and of these headers."""
    compiler = (Path(folder) / "gcc" for folder in os.get_exec_path())
    places = [folder / name for folder in _FOLDERS for name in headers]
    found: list[str] = []
    for path in (*compiler, *places):
        if is_file(path):
            status = path.resolve().stat()
            found.append(f"{path.resolve()}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(found)

"""Pass 4 as a whole: look into the cache, take the short way, else the long one."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build import kbuild
from stapy.build.arrived import why_unfit
from stapy.build.compile import ImportsRefused, Job, NoShortWay, ShortWay
from stapy.build.daemon import ContainerError
from stapy.build.kit import BuildKernel, KitError, kit_key, open_kit
from stapy.build.messages import Reporter, missing_program
from stapy.build.module import Module
from stapy.build.runtime_objects import RuntimeObjects
from stapy.build.tools import HERE, Tools
from stapy.cache import Cache, key_of
from stapy.debuginfo.errors import DebuginfoError
from stapy.kernel.roots import is_build_tree
from stapy.paths import data_dir, exists
from stapy.temporary import scratch_root
from stapy.translate.manifest import encode
from stapy.trust import write_new

if TYPE_CHECKING:
    from stapy.build.process import Result
    from stapy.diagnostics import Diagnostics
    from stapy.options import Options
    from stapy.translate.source import ModuleSource

KIND = "module"


def kbuild_wanted(options: Options) -> bool:
    """Tell whether the user asked for the long way."""
    return bool(options.kbuild_flags) or os.environ.get("STAPY_BUILD") == "kbuild"


class Build:
    """One run of pass 4.

    ``folder`` is the session's temporary folder; ``facts`` gives the text of
    ``kernel_facts.h`` and is called only when something must be compiled for a
    kernel that has no kit yet.
    """

    def __init__(
        self,
        source: ModuleSource,
        *,
        kernel: BuildKernel,
        options: Options,
        diagnostics: Diagnostics,
        cache: Cache,
        folder: Path,
        facts: Callable[[], str],
        tools: Tools = HERE,
    ) -> None:
        self.tools = tools
        self.source = source
        self.kernel = kernel
        self.options = options
        self.cache = cache
        self.folder = folder
        self.facts = facts
        self.runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
        self.report = Reporter(diagnostics, kernel.release, source, tools.image)
        self.flags = [*options.kbuild_flags, *source.kbuild_flags]
        self.cpu = 0.0
        self.objects: RuntimeObjects | None = None

    def run(self) -> Module | None:
        """Make the module; return it, or None with the reasons in the collector."""
        try:
            return self.make()
        except ContainerError as error:
            self.report.container(str(error), error.hint)
            return None

    def make(self) -> Module | None:
        """Look for it, make it by the kit, or by kbuild."""
        build_dir = self.kernel.build_dir
        if build_dir is None or not is_build_tree(build_dir):
            self.report.no_headers(build_dir, is_elsewhere=self.options.elsewhere)
            return None
        long_way = bool(self.flags) or kbuild_wanted(self.options)
        key = self.key("kbuild" if long_way else "kit")
        if self.options.keep or self.options.tmpdir is not None:
            self.keep_tree(build_dir, key)
        found = self.cached(key)
        if found is not None:
            return found
        reason = "it was asked for"
        if not long_way:
            try:
                return self.short_way(key)
            except ImportsRefused as error:
                broken = self.objects.broken if self.objects else {}
                kept = self.kept("".join(broken.values())) if broken else ""
                self.report.imports(error.imports, broken, kept)
                return None
            except KitError as error:
                if self.kit_failed(error):
                    return None
                reason = str(error)
            except NoShortWay as error:
                if error.by_compiler and self.report.script_errors(error.log):
                    return None
                reason = str(error)
        return self.long_way(build_dir, key, reason)

    # --- the cache -------------------------------------------------------

    def key(self, way: str) -> str:
        """Name the module's content."""
        parts: list[object] = [way, kit_key(self.kernel, self.runtime, self.tools)]
        parts += [self.source.name, encode(self.source.manifest), *self.flags]
        for table in (self.source.files, self.source.defines):
            parts.append(len(table))
            for name, text in sorted(table.items()):
                parts += [name, text]
        for name, data in sorted(self.source.blobs.items()):
            parts += [name, hashlib.sha256(data).hexdigest()]
        return key_of(*parts)

    def cached(self, key: str) -> Module | None:
        """Copy the module, if cached, to our folder under its own name; else return None."""
        entry = self.cache.get(KIND, key)
        if entry is None:
            return None
        target = self.folder / f"{self.source.name}.ko"
        try:
            target.write_bytes(entry.read_bytes())
        except OSError:
            return None
        return Module(target, self.source.manifest, "", key, "cache")

    # --- three ways --------------------------------------------------------

    def short_way(self, key: str) -> Module:
        """Make the module by the kit; raise `NoShortWay` and others when that does not work."""
        kit = open_kit(self.kernel, self.runtime, self.cache, self.folder, self.facts, self.tools)
        work = self.folder / "build"
        work.mkdir(exist_ok=True)
        self.objects = objects = RuntimeObjects(kit, self.runtime, self.cache, work)
        job = Job(self.source, kit, objects, self.runtime, self.kernel.exports, work, key[:16])
        way = ShortWay(job)
        try:
            path = way.make()
        finally:
            self.cpu += way.cpu + objects.cpu + kit.cpu
        return self.done(path, "".join(way.log), key, "kit", "")

    def long_way(self, build_dir: Path, key: str, reason: str) -> Module | None:
        """Make the module by the kernel's kbuild; None (reported) when that fails."""
        tree = self.tree()
        self.write_tree(build_dir, tree, key)
        try:
            done = kbuild.make(build_dir, tree, self.flags, self.tools)
        except OSError:
            self.report.no_program("make")
            return None
        return self.built(done, tree, key, reason)

    def built(self, done: Result, tree: Path, key: str, reason: str) -> Module | None:
        """Take the module that came out of kbuild; None (reported) when there is none."""
        self.cpu += done.cpu
        path = tree / f"{self.source.name}.ko"
        if done.status or not exists(path):
            self.report.compiler(done.output, self.runtime, lambda: self.kept(done.output))
            return None
        return self.done(path, done.output, key, "kbuild", reason)

    def done(self, path: Path, log: str, key: str, origin: str, reason: str) -> Module:
        """Store the module, put it where the session expects it."""
        why = why_unfit(path, self.source, self.kernel.release) if self.tools.image else ""
        if why:
            raise ContainerError(
                f"what {self.tools.image} made is not the module: {why}", "see docker/README.md"
            )
        self.cache.put_file(KIND, key, path)
        target = self.folder / path.name
        path.replace(target)
        return Module(target, self.source.manifest, log, key, origin, reason, self.cpu)

    # --- the tree for kbuild ---------------------------------------------

    def tree(self) -> Path:
        """Choose the folder for kbuild; make cannot handle blanks and colons in its path."""
        safe = str(self.folder).startswith(scratch_root()) or " " not in str(self.folder)
        base = self.folder if safe else self.tools.scratch() / self.folder.name
        return base / self.source.name

    def write_tree(self, build_dir: Path, tree: Path, key: str) -> None:
        """Fill that folder."""
        tree.mkdir(parents=True, exist_ok=True)
        if self.objects:
            with contextlib.suppress(OSError, DebuginfoError):
                self.objects.provide_all()
        without = self.objects.refused() if self.objects else set()
        kbuild.write_tree(
            self.source,
            self.runtime,
            build_dir,
            tree,
            self.facts(),
            key[:16],
            without,
            self.tools,
        )

    def keep_tree(self, build_dir: Path, key: str) -> None:
        """Write, for -k, a folder in which ``make`` builds the module without us."""
        self.write_tree(build_dir, self.tree(), key)

    # --- failures --------------------------------------------------------

    def kit_failed(self, error: KitError) -> bool:
        """Report what kbuild could not do better; false when it may be tried."""
        if error.stage == "tools":
            self.report.no_program(str(error).partition(":")[0])
            return True
        if error.stage == "kbuild" and error.log:
            program = missing_program(error.log)
            if program:
                self.report.no_program(program)
            else:
                self.report.compiler(error.log, self.runtime, lambda: self.kept(error.log))
            return True
        if error.stage == "headers":
            self.report.compiler(error.log, self.runtime, lambda: self.kept(error.log))
            return True
        return False

    def kept(self, log: str) -> str:
        """Store a log where it outlives the session's folder; its path."""
        tail = f"{os.getpid()}-{os.urandom(4).hex()}"
        path = Path(scratch_root()) / f"stapy-{self.source.name}-{tail}.log"
        try:
            write_new(path, log.encode("utf-8", "surrogateescape"))
        except OSError as error:
            return f"nowhere ({path}: {error.strerror})"
        return str(path)


def build(
    source: ModuleSource,
    *,
    kernel: BuildKernel,
    options: Options,
    diagnostics: Diagnostics,
    cache: Cache,
    folder: Path,
    facts: Callable[[], str],
    tools: Tools = HERE,
) -> Module | None:
    """Pass 4: make ``folder/NAME.ko``; None when that failed, with the reasons collected."""
    return Build(
        source,
        kernel=kernel,
        options=options,
        diagnostics=diagnostics,
        cache=cache,
        folder=folder,
        facts=facts,
        tools=tools,
    ).run()

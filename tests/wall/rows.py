"""A row of the wall: what one kernel made of each family, and how it is found out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from stapy.arch import architecture, architecture_of_debian, host, host_name
from stapy.build.cross import CrossTools
from stapy.build.daemon import ContainerError, Docker
from stapy.build.driver import RuntimeObjects, open_kit
from stapy.build.images import choose, open_container
from stapy.build.kit import KitError
from stapy.build.llvm import tools_for
from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import Kernel, find_kernel
from stapy.paths import cache_dir, data_dir
from stapy.record import Record, new
from stapy.vm.errors import VmError
from stapy.vm.machine import Machine
from tests.vm.harness import ROOT, Case, build, check_case, run_built, told_case

FAMILIES = Path(__file__).with_name("families.txt")
UNITS = "all of the runtime"
OK, MADE = "ok", "made"
_HERE = "this machine"


class Row(Record):
    """One kernel; ``cells`` are the families' [state, first words of the complaint].

    A state is `OK`, `MADE` (compiled, but nothing could be booted) or what stands in the way: the
    code of the message, or "wrong" for a module that loads and does not print what it must.
    ``why`` says why a kernel was not tried, ``architecture`` what it is for.
    """

    release: str
    compiler: str = ""
    place: str = ""
    date: str = ""
    stapy: str = ""
    why: str = ""
    cells: dict[str, list[str]] = new(dict)
    architecture: str = "x86_64"


def families() -> list[tuple[str, Case]]:
    """Read the scripts, each with the name of its family."""
    found = []
    for block in FAMILIES.read_text().split("\n### ")[1:]:
        name, _, text = block.partition("\n")
        found.append((name, told_case(Path(name), text, FAMILIES.parent)))
    return found


def texts() -> dict[str, str]:
    """Map each family to its script without the comments that say how it is run."""
    blocks = FAMILIES.read_text().split("\n### ")[1:]
    return {name: text for name, _, text in (block.partition("\n") for block in blocks)}


def commit() -> str:
    """Name the state of the sources."""
    words = ["git", "log", "-1", "--format=%h"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def try_kernel(release: str) -> Row:
    """Build every family for a kernel and run what was built."""
    kernel = find_kernel(release, Diagnostics(SourceMap()))
    row = Row(release, kernel.compiler, date=time.strftime("%Y-%m-%d"), stapy=commit())
    row.architecture = kernel.arch
    row.place, row.why = _place(kernel)
    if row.why:
        return row
    words = [] if row.place == _HERE else ["--build-in=auto"]
    row.cells[UNITS] = _units(kernel, row.place)
    with tempfile.TemporaryDirectory(prefix="stapy-wall-") as folder:
        machine, why = _boot(release)
        try:
            for name, cell in _tried(release, words, machine, Path(folder)):
                row.cells[name] = cell
                print(f"  {name}: {' '.join(cell)}", flush=True)
        finally:
            if machine:
                machine.close()
    if why:
        row.place += f"; not booted: {why}"
    return row


def _place(kernel: Kernel) -> tuple[str, str]:
    """Choose where modules for a kernel are compiled: (place, "") or ("", why not at all)."""
    if kernel.arch != host_name():
        machine = architecture(kernel.arch)
        cross = machine.cross if machine else ""  # newer kernels name their compiler with it
        compiler = cross + kernel.compiler.removeprefix(cross)
        why = f"it is built with {kernel.compiler}, and there is no {compiler} here"
        return (_HERE, "") if shutil.which(compiler) else ("", why)
    if kernel.compiler and shutil.which(kernel.compiler):
        return _HERE, ""
    what = f"it is built with {kernel.compiler or 'an unknown compiler'}, which is not here"
    try:
        choice = choose("auto", kernel)
        if Docker().image(choice.image) is None:
            return "", f"{what}, and there is no image {choice.image}"
    except ContainerError as error:
        return "", f"{what}: {error}"
    return choice.image, ""


def _units(kernel: Kernel, place: str) -> list[str]:
    """Compile every file of the runtime; name those that the kernel's compiler refuses."""
    runtime = data_dir("runtime")
    cache = Cache(cache_dir())
    info = Debuginfo(kernel, cache, Diagnostics(SourceMap()))
    with tempfile.TemporaryDirectory(prefix="stapy-wall-") as name:
        folder = Path(name)
        machine = architecture(kernel.arch)
        tools = CrossTools(machine) if machine and kernel.arch != host_name() else tools_for(kernel)
        try:
            if place != _HERE:
                tools = open_container(choose("auto", kernel), kernel, runtime, folder)
                tools.begin()
            facts = lambda: kernel_facts(kernel, info.btf, kernel.exports)  # noqa: E731
            kit = open_kit(kernel, runtime, cache, folder, facts, tools)
            objects = RuntimeObjects(kit, runtime, cache, folder)
            objects.provide_all()
        except KitError as error:
            return ["no kit", _first(error.log) or str(error)]
        except ContainerError as error:
            return ["no kit", str(error)]
        finally:
            tools.close()
    if not objects.broken:
        return [OK, ""]
    return [
        ", ".join(sorted(objects.broken)),
        "; ".join(_first(words) for words in objects.broken.values()),
    ]


def _first(log: str) -> str:
    """Return the first error of a compiler's words, without the place of its file."""
    match = re.search(r"error: (.*)", log)
    return match[1] if match else ""


def _boot(release: str) -> tuple[Machine | None, str]:
    try:
        machine = Machine(release)
        machine.boot()
    except VmError as error:
        return None, str(error)
    return machine, ""


def _tried(
    release: str, words: list[str], machine: Machine | None, folder: Path
) -> Iterator[tuple[str, list[str]]]:
    """Yield each family with its cell."""
    scripts = texts()
    for number, (name, case) in enumerate(families()):
        file = folder / f"{number}.stp"
        case.path = file
        command = [*case.words(), *words]
        # What is optional would be left out without a word where a family is refused.
        needed = scripts[name].replace(")? {", ") {")
        if needed != scripts[name] and architecture_of_debian(release) not in (None, host()):
            file.write_text(needed)
            made = build(release, ["--message-format=json", *command], folder)
            if made.module is None:
                yield name, _refusal(made.stderr)
                continue
        file.write_text(scripts[name])
        yield name, _cell(release, command, case, machine, folder / str(number))


def _cell(
    release: str, words: list[str], case: Case, machine: Machine | None, folder: Path
) -> list[str]:
    folder.mkdir()
    # Names of programs mean those of a guest of another architecture.
    where = [f"--vm={release}"] if machine is not None and machine.kernel.is_foreign() else []
    options = ["--message-format=json", "-m", f"wall_{folder.name}", *where]
    made = build(release, [*options, *words], folder)
    if made.module is None:
        return _refusal(made.stderr)
    if machine is None:
        return [MADE, ""]
    made.stderr = ""  # notes of the build say nothing about the run
    try:
        check_case(case, run_built(machine, made, words, case.timeout))
    except VmError as error:
        return ["no boot", str(error)]
    except AssertionError as error:
        return ["wrong", " ".join(str(error).split())[:300]]
    return [OK, ""]


def _refusal(stderr: str) -> list[str]:
    """Take code and words of the first error of a build."""
    for line in stderr.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if said.get("severity") == "error":
            return [said.get("code") or "error", said.get("message", "").splitlines()[0]]
    lines = stderr.strip().splitlines()
    return ["error", lines[-1] if lines else "nothing was said"]

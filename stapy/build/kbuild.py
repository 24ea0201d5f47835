"""The long way: a folder with all sources and a Makefile, made by the kernel's own kbuild.

Taken with ``-B``, with ``STAPY_BUILD=kbuild`` and whenever the short way is in
doubt.  The folder is complete: ``make`` in it works without stapy, which is what
``-k`` leaves to the user.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.commands import make_command
from stapy.build.tools import HERE, Tools
from stapy.build.units import joined
from stapy.translate.manifest import assembly, encode

if TYPE_CHECKING:
    from stapy.build.process import Result
    from stapy.translate.source import ModuleSource

_MAKEFILE = """# Made by stapy: `make` builds {name}.ko for the kernel named here.
KERNEL ?= {build_dir}

obj-m := {name}.o
{name}-y := {objects}
ccflags-y := {flags}

all:
\t$(MAKE) -C $(KERNEL) M=$(CURDIR){words} modules

clean:
\t$(MAKE) -C $(KERNEL) M=$(CURDIR) clean

.PHONY: all clean
"""


def write_tree(
    source: ModuleSource,
    runtime: Path,
    build_dir: Path,
    folder: Path,
    facts: str,
    digest: str,
    without: set[str],
    tools: Tools = HERE,
) -> None:
    """Put sources, runtime and Makefile into ``folder``.

    ``without`` names C files of the runtime that this kernel is known to refuse.
    """
    objects = []
    for name, text in source.files.items():
        # An object of the module's own name would be the module itself.
        if name == f"{source.name}.c":
            name = f"{source.name}_script.c"
        (folder / name).write_text(text)
        if name.endswith(".c"):
            objects.append(name[:-2] + ".o")
    for name, data in source.blobs.items():
        (folder / name).write_bytes(data)
    objects += copy_runtime(runtime, folder / "runtime", without)
    (folder / "kernel_facts.h").write_text(facts)
    (folder / "manifest.json").write_bytes(encode(source.manifest))
    (folder / "stapy_manifest.S").write_text(assembly("manifest.json", digest))
    objects.append("stapy_manifest.o")
    # $(src) is relative to the kernel's folder in newer kernels, so it cannot be used here.
    here = "$(M)"
    flags = [f"-I{here}", f"-I{here}/runtime"]
    flags += [f"-D{name}={_for_make(value)}" for name, value in source.defines.items()]
    (folder / "Makefile").write_text(
        _MAKEFILE.format(
            name=source.name,
            build_dir=build_dir,
            objects=" \\\n\t".join(objects),
            flags=" ".join(flags),
            words="".join(f" {word}" for word in tools.make_words),
        )
        + f"AFLAGS_stapy_manifest.o := -Wa,-I{here}\n"
    )


def _for_make(value: str) -> str:
    quoted = "'" + value.replace("'", "'\\''") + "'" if re.search(r"[^\w.+-]", value) else value
    return quoted.replace("$", "$$").replace("#", "\\#")


def copy_runtime(runtime: Path, folder: Path, without: set[str]) -> list[str]:
    """Copy the runtime; list its objects.

    ``without`` names C files that are left out.  Each run of the compiler reads the kernel's
    headers, which is half a second of work.
    """
    members = []
    for path in sorted(runtime.rglob("*")):
        if path.suffix not in (".c", ".h", ".S"):
            continue
        target = folder / path.relative_to(runtime)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        name = path.relative_to(runtime).as_posix()
        if path.suffix == ".c" and name not in without:
            members.append(name)
    objects = []
    for unit in joined(members):
        file = unit.members[0]
        if len(unit.members) > 1:
            file = f"unit_{unit.name}.c"
            includes = [f'#include "{member}"\n' for member in unit.members]
            (folder / file).write_text("".join(includes))
        objects.append(f"runtime/{file[:-2]}.o")
    return objects


def make_words(flags: list[str]) -> list[str]:
    """List what to tell make: the words of ``-B``, and else no debug information.

    It triples the time, and nobody reads it.
    """
    words = ["CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    names = {flag.partition("=")[0] for flag in flags}
    return [word for word in words if word.partition("=")[0] not in names] + flags


def make(build_dir: Path, folder: Path, flags: list[str], tools: Tools = HERE) -> Result:
    """Run kbuild; the module is ``folder/NAME.ko`` when the status is 0.

    An `OSError` means that there is no make.
    """
    width = min(len(os.sched_getaffinity(0)), 4)
    words = [*tools.make_words, *make_words(flags)]
    return tools.run(make_command(build_dir, folder, f"-j{width}", *words))

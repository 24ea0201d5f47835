"""A runtime of three files, so that tests of pass 4 do not wait for the real one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stapy.kernel.exports import Exports
from stapy.translate.manifest import make_manifest
from stapy.translate.source import ModuleSource

_HEADER = """#ifndef STAPY_H
#define STAPY_H
#include <linux/module.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
struct stapy_session { const char *name; int (*init)(void); };
extern struct stapy_session stapy_session;
int stapy_helper(int);
int stapy_unused(int);
#endif
"""
_SESSION = """#include "stapy.h"
static int __init stapy_init(void)
{
\tpr_info("stapy small runtime: %s\\n", stapy_session.name);
\treturn stapy_session.init ? stapy_session.init() : 0;
}
static void __exit stapy_stop(void)
{
\tpr_info("stapy small runtime: bye\\n");
}
module_init(stapy_init);
module_exit(stapy_stop);
MODULE_LICENSE("GPL");
"""
_HELPER = """#include "stapy.h"
int stapy_helper(int x)
{
\tpr_info("stapy small runtime: helper %d\\n", x);
\treturn 0;
}
"""
_UNUSED = """#include "stapy.h"
int stapy_unused(int x)
{
\tregister_kprobe(NULL);
\treturn x;
}
"""
SCRIPT = """#include "stapy.h"
static int start(void)
{
\treturn stapy_helper(42);
}
struct stapy_session stapy_session = { .name = "hello", .init = start };
"""


class Kernel(NamedTuple):
    """What pass 4 reads of a kernel."""

    release: str
    arch: str
    build_dir: Path | None
    image: Path | None = None

    @property
    def exports(self) -> Exports:
        return Exports(self.build_dir / "Module.symvers" if self.build_dir else None)


def write_runtime(folder: Path, **changes: str) -> Path:
    """Put the runtime into ``folder``; ``changes`` replace files by their stem."""
    files = {
        "stapy.h": _HEADER,
        "session.c": _SESSION,
        "helper.c": _HELPER,
        "probes/unused.c": _UNUSED,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changes.get(path.stem, text))
    return folder


def source(text: str = SCRIPT, name: str = "stapy_small") -> ModuleSource:
    """Make a module of one C file."""
    manifest = make_manifest(
        name=name,
        script_name="small.stp",
        script_text='probe begin { printf("käse\\n") }',
        release="",
        arch="x86_64",
        probes=[{"written": "begin", "points": ["begin"], "place": "small.stp:1:1"}],
        limits={"MAXACTION": 1000},
    )
    return ModuleSource(name, {"small.c": text}, manifest)

"""A small kernel on disk: image, modules, headers; nothing of the machine is looked at."""

from __future__ import annotations

from pathlib import Path

from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules
from stapy.kernel.target import Kernel

from .btfwriter import BtfWriter
from .elfwriter import ElfWriter

SYMVERS = (
    "0x4c9d28b0\tvfs_read\tvmlinux\tEXPORT_SYMBOL_GPL\t\n"
    "0x00000001\tplain\tvmlinux\tEXPORT_SYMBOL\t\n"
    "0x00000002\tspaced\tfs/fuse/fuse\tEXPORT_SYMBOL_GPL\tMY_SPACE\n"
)
SCHED_H = """
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched
TRACE_EVENT(sched_switch,
\tTP_PROTO(bool preempt),
"""


def kernel_btf() -> BtfWriter:
    w = BtfWriter()
    num = w.int("int")
    void = w.pointer(0)
    w.struct("task", 8, [("pid", num, 0), ("tgid", num, 32)])
    w.forward("late")
    w.enum("kind", {"KIND_A": 1})
    for name in ("vfs_read", "vfs_write", "vfs_init", "vfs_guarded", "only_btf", "split"):
        w.function(name, num, [("fd", num)])
    for name in ("sched_switch", "secret_event"):
        w.function(f"__traceiter_{name}", num, [("__data", void), ("preempt", num)])
    w.variable("per_cpu_task", num)
    return w


def vmlinux(btf: bytes, *more: str) -> bytes:
    e = ElfWriter(2)
    e.section(".text", bytes(64), flags=6)
    e.section(".init.text", bytes(64), flags=6)
    e.note("GNU", 3, bytes(range(20)))
    if btf:
        e.section(".BTF", btf)
    e.symbol("vfs_read", 1)
    e.symbol("vfs_write", 2, binding=0)
    e.symbol("vfs_write", 3, binding=0)
    e.symbol("vfs_init", 4, section=2)
    e.symbol("vfs_only_symbol", 5)
    e.symbol("split.isra.0", 6)
    e.symbol("__pfx_vfs_read", 7)
    e.symbol("vfs_variable", 8, kind=1)
    for name in ("__traceiter_sched_switch", "__traceiter_secret_event", *more):
        e.symbol(name, 9)
    return e.data()


def module(base: BtfWriter) -> bytes:
    w = BtfWriter(base)
    w.struct("late", 4, [("x", 1, 0)])
    w.function("fuse_open", 1, [("fd", 1)])
    w.function("__traceiter_fuse_request", 1, [("__data", 2), ("n", 1)])
    e = ElfWriter()
    e.section(".text", bytes(8), flags=6)
    e.section(".BTF", w.data())
    e.symbol("fuse_open", binding=0)
    e.symbol("fuse_helper", binding=0)
    e.symbol("__traceiter_fuse_request")
    return e.data()


def make_kernel(
    folder: Path, *, btf: bytes | None = None, symvers: str = SYMVERS, image: bytes | None = None
) -> Kernel:
    base = kernel_btf()
    path = folder / "vmlinuz"
    path.write_bytes(vmlinux(base.data() if btf is None else btf) if image is None else image)
    modules = folder / "modules"
    (modules / "kernel/fs").mkdir(parents=True)
    (modules / "kernel/fs/fuse-x.ko").write_bytes(module(base))
    (modules / "kernel/fs/broken.ko").write_bytes(b"rubbish")
    (modules / "modules.dep").write_text("kernel/fs/fuse-x.ko:\nkernel/fs/broken.ko: a b\n")
    headers = folder / "source"
    (headers / "include/trace/events").mkdir(parents=True)
    (headers / "include/trace/events/sched.h").write_text(SCHED_H)
    (folder / "Module.symvers").write_text(symvers)
    return Kernel(
        "6.1.0-test-amd64",
        (6, 1, 0),
        "x86_64",
        False,
        folder,
        headers,
        modules,
        path,
        Config([]),
        Exports(folder / "Module.symvers"),
        Modules(modules),
    )


def make_debuginfo(folder: Path, kernel: Kernel) -> Debuginfo:
    return Debuginfo(kernel, Cache(folder / "cache"), Diagnostics(SourceMap()))

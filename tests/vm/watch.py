"""Watches a PREEMPT_RT kernel for what its debugging options would tell: locks that sleep
taken where nothing may sleep.  The watcher is a script of stapy's own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stapy.vm.machine import Machine, VmResult

NAME = "stapy_watcher"
SCRIPT = """
/* A handler of ours has preemption off, the watched function had it on, unless it is to be told. */
function atomic:long(from:long)
%{
    STAP_RETVALUE = preempt_count() > STAP_ARG_from ||
                    (c->regs && !(c->regs->flags & X86_EFLAGS_IF));
%}
function tell()
{
    printf("--- %s\\n%s", pp(), sprint_backtrace())
}
probe kernel.function("rt_spin_lock"), kernel.function("rt_read_lock"),
      kernel.function("rt_write_lock"), kernel.function("mutex_lock"),
      kernel.function("down_read"), kernel.function("down_write"),
      kernel.function("__kmem_cache_alloc_node") ?, kernel.function("kmem_cache_alloc") ?,
      kernel.function("__kmalloc_noprof") ?, kernel.function("kmem_cache_alloc_noprof") ?
{
    if (atomic(1)) tell()
}
/* Trying is for threads and softirqs, never for interrupts. */
probe kernel.function("rt_spin_trylock") { if (atomic(0xffff)) tell() }
"""
WORDS = (
    "-g", "-m", NAME, "-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=100000000", "-DMAXSTRINGLEN=1500",
    "-e", SCRIPT,
)  # fmt: skip
_BEGIN = """
insmod {module} && exec 3<>/proc/stapy_{name}/control && echo 'start 0' >&3 && echo detach >&3
"""
_END = """
exec 3<>/proc/stapy_{name}/control && echo dismiss >&3 && echo stop >&3
cat /proc/stapy_{name}/output
exec 3>&-; rmmod {name}
"""


def wanted(release: str) -> bool:
    """Tell whether a kernel's locks sleep."""
    return "-rt-" in release


def begin(guest: Machine, module: Path) -> None:
    """Load and start the watcher, which stays until `end`."""
    _shell(guest, _BEGIN.format(module=guest.push(module), name=NAME))


def end(guest: Machine, watched: str) -> list[str]:
    """Remove it; the backtraces that lead through the module ``watched``."""
    told = _shell(guest, _END.format(name=NAME)).stdout.decode().split("--- ")
    return [text for text in told if f"[{watched}]" in text]


def _shell(guest: Machine, text: str) -> VmResult:
    return guest.run(["sh", "-c", f"cd {tempfile.gettempdir()}; {text}"])

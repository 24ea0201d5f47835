"""A throw-away virtual machine in which pass 5 can run: for users (``--vm``) and for tests.

Everything heavy is imported on first use, so that ``import stapy.vm`` is free;
the guest's agent imports this package too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.run.options import RunOptions
    from stapy.vm.machine import Machine


class VmError(Exception):
    """The machine cannot be had; ``hint`` is the one thing to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def check() -> None:
    """Raise `VmError` when no machine can be started here, whatever its kernel."""
    from stapy.vm.qemu import check as look

    look()


def prepare(release: str | None, sysroot: str | None = None) -> Machine:
    """A machine that boots while the module is made; see `stapy.vm.session`."""
    from stapy.vm.session import prepare as begin

    return begin(release, sysroot)


def run_module(module_path: str, machine: Machine, options: RunOptions) -> int:
    """Pass 5 in a machine that `prepare` gave; see `stapy.vm.session`."""
    from stapy.vm.session import run_module as run

    return run(module_path, machine, options)


def default_release(sysroot: str | None = None) -> str:
    """The kernel that ``--vm`` boots when nobody names one; see `stapy.vm.kernels`."""
    from stapy.vm.kernels import default_release as find

    return find(sysroot)

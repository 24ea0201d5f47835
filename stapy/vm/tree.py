"""What the programs of a guest are: this machine's own files, or another architecture's."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from stapy.kernel import userland
from stapy.paths import exists
from stapy.record import Record
from stapy.vm.errors import VmError
from stapy.vm.kernels import GuestKernel


class GuestTree(Record):
    """The file tree of a guest, before anything in it is changed.

    ``root`` is its place on the host; ``busybox`` is that of a static busybox, ``interpreter``
    the path in the guest of a Python, ``is_ours`` tells whether this one's bytecode suits it.
    ``is_foreign`` tells that the tree is not the host's own.
    """

    root: Path
    busybox: Path
    interpreter: str
    is_ours: bool = True
    is_foreign: bool = False


def busybox() -> Path:
    """Find a static busybox, or raise `VmError`."""
    for name in ("busybox-static", "busybox"):
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/bin:/usr/bin:/usr/sbin")
        if path:
            return Path(path)
    raise VmError("no busybox for the guest's start", hint="apt-get install busybox-static")


def interpreter() -> str:
    """Find the Python that the guest shall use: this one, without any virtual environment."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def tree_of(kernel: GuestKernel) -> GuestTree:
    """Find what guests with this kernel run, or raise a `VmError` that says how to get it."""
    if not kernel.is_foreign():
        return GuestTree(Path("/"), busybox(), interpreter())
    architecture = kernel.architecture
    root = userland.root_of(architecture.debian)
    minor = userland.python_minor(root)
    if minor < 0 or not exists(root / "bin/busybox"):
        raise VmError(
            f"no programs of {architecture.name} for the guest",
            hint=f"stapy kernel fetch -a {architecture.name} {kernel.release}",
        )
    is_ours = minor == sys.version_info.minor
    python = f"/usr/bin/python3.{minor}"
    return GuestTree(root, root / "bin/busybox", python, is_ours, is_foreign=True)

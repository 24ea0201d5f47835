"""Finds the file with the debug information of a kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from stapy.kernel.target import Kernel

_USUAL = Path("/usr/lib/debug")
_BELOW = (
    "boot/vmlinux-{r}",
    "lib/modules/{r}/vmlinux",
    "usr/lib/modules/{r}/vmlinux",
    "lib/modules/{r}/vmlinux.debug",
    "vmlinux-{r}",
    "vmlinux",
)


def folders() -> list[Path]:
    """Folders that hold debug files: those of ``$SYSTEMTAP_DEBUGINFO_PATH`` first.

    As SystemTap has it the list is separated by colons, and a ``+`` or ``-`` in
    front of a folder asks for check sums or not; build-ids make them needless.
    Words that are no absolute path mean places beside the binary: a kernel has none.
    """
    listed = os.environ.get("SYSTEMTAP_DEBUGINFO_PATH", "").split(":")
    found = [Path(word.lstrip("+-")) for word in listed if word.lstrip("+-").startswith("/")]
    return list(dict.fromkeys([*found, _USUAL]))


def candidates(kernel: Kernel, build_id: str) -> Iterator[Path]:
    """Files that may be the one, the surest first."""
    for folder in folders():
        if len(build_id) > 2:
            yield folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        for name in _BELOW:
            if name == "vmlinux" and folder == _USUAL:
                continue  # of no kernel in particular
            yield folder / name.format(r=kernel.release)
    for tree in (kernel.build_dir, kernel.modules_dir):
        if tree is not None:
            yield tree / "vmlinux"


def debug_files(kernel: Kernel, build_id: str) -> list[Path]:
    """The candidates that exist."""
    return [path for path in candidates(kernel, build_id) if path.is_file()]


def fingerprint(kernel: Kernel) -> list[str]:
    """What tells one state of the machine's debug files from another, for cache keys."""
    found: list[str] = []
    for path in candidates(kernel, ""):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append(f"{path}:{status.st_size}:{status.st_mtime_ns}")
    return found

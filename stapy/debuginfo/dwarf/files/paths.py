"""Finds the files with the debug information of a kernel and of its modules."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from stapy.debuginfo import looked
from stapy.kernel.roots import OWN, inside, status
from stapy.kernel.target import Kernel

_USUAL = Path("/usr/lib/debug")
# What tells where debug files are looked for, and which of a server's are taken.
_SETTINGS = (
    "SYSTEMTAP_DEBUGINFO_PATH", "DEBUGINFOD_URLS", "DEBUGINFOD_MAXSIZE", "DEBUGINFOD_CACHE_PATH"
)  # fmt: skip
_BELOW = (
    "boot/vmlinux-{r}",
    "lib/modules/{r}/vmlinux",
    "usr/lib/modules/{r}/vmlinux",
    "lib/modules/{r}/vmlinux.debug",
    "vmlinux-{r}",
    "vmlinux",
)
_MODULE_FILES = (
    "lib/modules/{r}/{m}",
    "lib/modules/{r}/{m}.debug",
    "usr/lib/modules/{r}/{m}",
    "usr/lib/modules/{r}/{m}.debug",
)


def folders(root: Path = OWN) -> list[Path]:
    """List the folders of debug files: ``$SYSTEMTAP_DEBUGINFO_PATH``, else the usual one.

    As SystemTap has it the list takes the place of ``/usr/lib/debug``, is separated by
    colons, and a ``+`` or ``-`` in front of a folder asks for check sums or not;
    build-ids make them needless.
    Words that are no absolute path mean places beside the binary: a kernel has none.
    ``root`` is the file tree in which a kernel was found.
    """
    listed = os.environ.get("SYSTEMTAP_DEBUGINFO_PATH")
    if not listed:
        return list(dict.fromkeys([inside(root, str(_USUAL)), _USUAL]))
    words = [word.lstrip("+-") for word in listed.split(":")]
    return list(dict.fromkeys(Path(word) for word in words if word.startswith("/")))


def kernel_files(kernel: Kernel, build_id: str) -> Iterator[Path]:
    """Yield paths that may be the kernel's debug file, the surest first.

    They may or may not exist.
    """
    for folder in folders(kernel.root):
        yield from by_build_id(folder, build_id)
        for name in _BELOW:
            if name == "vmlinux" and folder.parts[-3:] == _USUAL.parts[-3:]:
                continue  # of no kernel in particular
            yield folder / name.format(r=kernel.release)
    for tree in (kernel.build_dir, kernel.modules_dir):
        if tree is not None:
            yield tree / "vmlinux"


def module_files(
    kernel: Kernel, path: Path | None, build_id: str, is_whole: bool
) -> Iterator[Path]:
    """List the debug files of a module; its own ``path`` is one when it ``is_whole``."""
    below = _below(kernel, path)
    for folder in folders(kernel.root):
        yield from by_build_id(folder, build_id)
        for name in _MODULE_FILES if below else ():
            yield folder / name.format(r=kernel.release, m=below)
    if path is not None:
        yield path.with_name(_plain(path.name) + ".debug")
        if is_whole:
            yield path


def by_build_id(folder: Path, build_id: str) -> Iterator[Path]:
    """Yield the path, if any, at which a folder has the debug file of a build-id."""
    if len(build_id) > 2:
        yield folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"


def _below(kernel: Kernel, path: Path | None) -> str:
    """Find where a module lies below the folder of its kernel, "" when it lies elsewhere."""
    if path is None or kernel.modules_dir is None:
        return ""
    try:
        below = path.relative_to(kernel.modules_dir)
    except ValueError:
        return ""
    return _plain(str(below))


def _plain(name: str) -> str:
    for suffix in (".xz", ".zst", ".gz"):
        name = name.removesuffix(suffix)
    return name


def existing(paths: Iterable[Path]) -> list[Path]:
    """Select those of some candidates that are files, each once; remember all (`looked.py`)."""
    candidates = list(dict.fromkeys(paths))
    looked.note(candidates)
    return [path for path in candidates if _is_file(path)]


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(status(path).st_mode)
    except (OSError, ValueError):  # a name out of a damaged file may be longer than names can be
        return False


def fingerprint(kernel: Kernel) -> list[str]:
    """List what tells one state of the machine's debug files from another, for cache keys."""
    found = [os.environ.get(name, "") for name in _SETTINGS]
    # The folders of modules stand for the files in them.
    trees = [
        folder / name.format(r=kernel.release, m="kernel")
        for folder in folders(kernel.root)
        for name in _MODULE_FILES[::2]
    ]
    for path in [*kernel_files(kernel, ""), *trees]:
        try:
            known = path.stat()
        except OSError:
            continue
        found.append(f"{path}:{known.st_size}:{known.st_mtime_ns}")
    return found


def folders_of_modules(kernel: Kernel, modules: Iterable[Path]) -> list[Path]:
    """List the folders that show it when debug files of some modules come or go.

    They are those that would have them: beside the modules, by path and by build-id, which is not
    known before a module was opened.
    """
    trees = [
        folder / name.format(r=kernel.release, m="")
        for folder in folders(kernel.root)
        for name in _MODULE_FILES[::2]
    ]
    by_build = [folder / ".build-id" for folder in folders(kernel.root)]
    # In an order that is the same in each process, for keys of the cache are made of them.
    found = [*dict.fromkeys(path.parent for path in modules), *by_build, *trees]
    for place in by_build:
        found += sorted(row for row in _entries(place) if len(row.name) == 2)
    for tree in trees:
        found += sorted(Path(folder) for folder, _, _ in os.walk(tree))
    return list(dict.fromkeys(found))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []

"""File trees in which kernels may lie: the machine's own, one named by ``--sysroot``, the cache.

In ``kernels`` of the cache lie kernels that were unpacked and never installed
(see CONTRIBUTING.md).  In any tree but the machine's own, absolute links and
names mean places of that tree, which neither the kernel's file system nor kbuild
knows: `build_tree` makes a build tree usable all the same.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from stapy.cache import key_of
from stapy.paths import cache_dir, exists, is_dir
from stapy.run.ground.links import open_below, real

OWN = Path("/")
# What kbuild writes goes where newer headers say, which is not where they were unpacked.
_OUTPUT = r"(?m)^KBUILD_OUTPUT[ \t]*:?=[ \t]*/\S+[ \t]*$"
_INCLUDE = r"(?m)^include[ \t]+(/\S+)/Makefile[ \t]*$"
_OTHER_ROOT = re.compile(r"/proc/\d+/root(?=/)")


def roots(sysroot: str | None) -> list[Path]:
    """List the trees in which to look for a kernel, in this order."""
    return [Path(sysroot).absolute()] if sysroot else [OWN, cache_dir() / "kernels"]


def inside(root: Path, name: str) -> Path:
    """Find the file that ``name`` means in a tree; links, absolute ones too, stay in it.

    Where others can exchange folders for links it is one for a moment only: `open_inside`.
    """
    return Path(name) if root == OWN else Path(real(str(root), name))


def open_inside(root: Path, name: str) -> int:
    """Open what a name means in a tree, whatever happens there meanwhile; ``O_PATH``."""
    return open_below(str(root), name)


def open_place(path: Path | str) -> int:
    """Open a path, or ``/proc/PID/root/…`` as that process has it, as an ``O_PATH`` descriptor."""
    found = _OTHER_ROOT.match(str(path))
    if found:
        return open_inside(Path(found[0]), str(path)[found.end() :])
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def status(path: Path | str) -> os.stat_result:
    """Call `os.stat` on what `open_place` opens; raises `OSError` when there is none."""
    if not _OTHER_ROOT.match(str(path)):
        return os.stat(path)  # noqa: PTH116 - a Path would lose what ".." means
    place = open_place(path)
    try:
        return os.fstat(place)
    finally:
        os.close(place)


def existing(root: Path, places: list[str]) -> Path | None:
    """Find the first of some places that a tree has, as its path; None when it has none."""
    for place in places:
        path = inside(root, place)
        if exists(path):
            return path
    return None


def releases(root: Path) -> list[str]:
    """List the releases of which a tree has at least modules or headers, sorted as text."""
    try:
        found = inside(root, "/lib/modules").iterdir()
        return sorted(path.name for path in found if is_dir(path))
    except OSError:
        return []


def is_build_tree(tree: Path | None) -> bool:
    """Tell whether kbuild can be started in a folder."""
    return tree is not None and exists(tree / "Makefile")


def with_headers() -> list[str]:
    """List the releases for which this machine can build modules, the newest last."""
    found = [name for name in releases(OWN) if is_build_tree(Path(f"/lib/modules/{name}/build"))]
    return sorted(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def build_tree(root: Path, tree: Path) -> Path:
    """Find a folder that kbuild can work in: ``tree`` itself, or one that stands for it.

    The other folder, in the cache, has a link for each entry of the tree, and a
    Makefile that includes the common one from where it really is.
    """
    if root == OWN:
        return tree
    try:
        makefile = (tree / "Makefile").read_text(encoding="utf-8", errors="surrogateescape")
        entries = {path.name: _target(root, path) for path in tree.iterdir()}
        common = re.search(_INCLUDE, makefile)
        if not common and all(target == tree / name for name, target in entries.items()):
            return tree
        if common:
            below = inside(root, common[1])
            below = build_tree(root, below) if exists(below) else Path(common[1])
            makefile = re.sub(_INCLUDE, lambda _: f"include {below}/Makefile", makefile)
        else:
            makefile = ""
        return _stand_in(tree, entries, makefile)
    except OSError:
        return tree  # kbuild will say what is wrong with it


def _target(root: Path, path: Path) -> Path:
    """Choose what an entry's link must name; a helper the tree lacks may be installed here."""
    if not path.is_symlink():
        return path
    there = inside(root, "/" + str(path.relative_to(root)))
    if exists(there) and path.resolve() == there.resolve():
        return path
    here = OWN / there.relative_to(root)
    return there if exists(there) or not exists(here) else here


def _stand_in(tree: Path, entries: dict[str, Path], makefile: str) -> Path:
    key = key_of(tree, makefile, *re.findall(_OUTPUT, makefile), *sorted(entries.items()))
    folder = cache_dir() / "trees" / key[:16]
    if is_dir(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    fresh.mkdir()
    for name, target in entries.items():
        if name != "Makefile" or not makefile:
            (fresh / name).symlink_to(target)
    if makefile:
        makefile = re.sub(_OUTPUT, lambda _: f"KBUILD_OUTPUT={folder}", makefile)
        (fresh / "Makefile").write_text(makefile, encoding="utf-8", errors="surrogateescape")
    try:
        fresh.rename(folder)
    except OSError:  # another process was first
        from shutil import rmtree

        rmtree(fresh, ignore_errors=True)
    return folder

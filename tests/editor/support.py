"""A kernel for editors: a build tree whose image is BTF made here."""

from __future__ import annotations

from pathlib import Path

from tests.debuginfo.btfwriter import BtfWriter

TAPSET = """
/** probe sample.read - a call of read */
probe sample.read = kernel.function("vfs_read") { filename = "x" size = $count }
"""
RELEASE = "6.1.0-test"


def make_tree(folder: Path) -> Path:
    """Make a build tree of a kernel that has vfs_read(file, count) and vfs_readv(file)."""
    writer = BtfWriter()
    number = writer.int("unsigned long", 8)
    path = writer.struct("path", 16, [("mnt", number, 0), ("dentry", number, 64)])
    file = writer.struct("file", 24, [("f_path", path, 0), ("f_flags", number, 128)])
    pointer = writer.pointer(file)
    writer.function("vfs_read", number, [("file", pointer), ("count", number)])
    writer.function("vfs_readv", number, [("file", pointer)])
    tree = folder / "tree"
    (tree / "include/config").mkdir(parents=True)
    (tree / "include/config/kernel.release").write_text(f"{RELEASE}\n")
    (tree / ".config").write_text("CONFIG_X86_64=y\n")
    (tree / "arch/x86/boot").mkdir(parents=True)
    (tree / "arch/x86/boot/bzImage").write_bytes(writer.data())
    return tree


def make_tapset(folder: Path) -> Path:
    """Make a folder for -I with an alias that sets two variables."""
    (folder / "tapset").mkdir()
    (folder / "tapset/sample.stp").write_text(TAPSET)
    return folder / "tapset"

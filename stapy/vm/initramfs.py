"""The small first file system of the guest: busybox, a handful of modules, the agent.

Made once per kernel and interpreter, kept in the cache, never compressed (the
emulated CPU would need longer to unpack it than the host to read it).
"""

from __future__ import annotations

import hashlib
import importlib.util
import lzma
import marshal
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

from stapy.paths import cache_dir, exists
from stapy.vm.cpio import Archive
from stapy.vm.errors import VmError
from stapy.vm.kernels import GuestKernel
from stapy.vm.tree import GuestTree

NEEDED = ("virtio_pci", "virtiofs", "virtio_console", "overlay")
_UNUSED = 24 * 3600.0  # seconds until an archive that no machine was started with is removed
PACKAGE = Path(__file__).resolve().parent
AGENT = {
    f"stapy/{path.relative_to(PACKAGE.parent).with_suffix('')}": path
    for path in (
        PACKAGE.parent / "__init__.py",
        *(PACKAGE / name for name in ("__init__.py", "frames.py", "agent.py")),
        *sorted((PACKAGE.parent / "run").rglob("*.py")),
    )
}


def module_order(modules: Path) -> list[Path]:
    """List the files of the modules that the guest needs, each after those it depends on."""
    needs: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        name = path.rpartition("/")[2].partition(".")[0].replace("-", "_")
        paths[name] = path
        needs[path] = rest.split()
    order: list[str] = []

    def add(path: str) -> None:
        if path not in order:
            for other in needs[path]:
                add(other)
            order.append(path)

    for name in NEEDED:  # a name that is not there is built into this kernel
        if name in paths:
            add(paths[name])
    return [modules / path for path in order]


def unpack(path: Path) -> bytes:
    """Read the bytes of a module file, which distributions compress in one of three ways."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return zlib.decompress(data, 31)
    if path.suffix == ".zst":
        if not shutil.which("zstd"):
            raise VmError(f"zstd is needed to read {path}", hint="apt-get install zstd")
        return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout
    return data


def bytecode(source: Path) -> bytes:
    """Compile a .pyc that is never checked against its source (the guest compiles too slowly)."""
    code = compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + struct.pack("<III", 1, 0, 0) + marshal.dumps(code)


def ensure(kernel: GuestKernel, tree: GuestTree) -> Path:
    """Return the path of the cached initramfs for a kernel; make it when it is not there."""
    script = (PACKAGE / "init.sh").read_bytes()
    key = hashlib.sha256(script)
    for part in (kernel.modules / "modules.dep", kernel.image, tree.busybox, *AGENT.values()):
        info = part.stat()
        key.update(f"{part} {info.st_size} {info.st_mtime_ns}\n".encode())
    key.update(f"{tree.interpreter} {sys.version} {kernel.modules}".encode())
    path = cache_dir() / "vm" / f"{kernel.release}-{key.hexdigest()[:16]}.cpio"
    if exists(path):
        os.utime(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path.parent, kernel.release)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(build(kernel, script, tree))
        temporary.replace(path)
    return path


def _clear(folder: Path, release: str) -> None:
    """Remove what no start of a machine has used for a day: another stapy may boot one now."""
    for old in folder.glob(f"{release}-*.cpio"):
        try:
            if time.time() - old.stat().st_mtime > _UNUSED:
                old.unlink()
        except FileNotFoundError:
            pass  # somebody else clears, too


def build(kernel: GuestKernel, script: bytes, tree: GuestTree) -> bytes:
    """Build the archive itself."""
    archive = Archive()
    for folder in ("proc", "sys", "dev", "lower", "layer", "new"):
        archive.folder(folder)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3)
    archive.device("dev/kmsg", 1, 11)
    archive.file("init", script, 0o755)
    archive.file("bin/busybox", tree.busybox.read_bytes(), 0o755)
    archive.file("python", tree.interpreter.encode())
    # Modules that are not installed appear in the guest where modprobe looks for them.
    place = f"/lib/modules/{kernel.release}"
    is_there = kernel.modules == Path(place)
    line = "" if is_there or tree.is_foreign else f"{kernel.modules.resolve()} {place}\n"
    archive.file("places", line.encode())
    archive.file("shares", f"modules {place}\n".encode() if tree.is_foreign else b"")
    order = []
    for path in module_order(kernel.modules):
        name = path.name.partition(".")[0] + ".ko"
        archive.file(f"modules/{name}", unpack(path))
        order.append(name)
    archive.file("modules/order", "\n".join(order).encode())
    for name, source in AGENT.items():
        if tree.is_ours:
            archive.file(f"stapy/{name}.pyc", bytecode(source))
        else:  # a Python of another version compiles it, which takes its time
            archive.file(f"stapy/{name}.py", source.read_bytes())
    return archive.finish()

"""What `file_values.stp` traces: a file on a FAT in memory, written and read in known ways.

After each step the program says what the variables of a probe must be: it writes the text to a file
that is not open, where the script takes it from the arguments of the call.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import struct
import subprocess
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
DISK, MOUNTED = "/dev/ram0", Path("/tmp/file_values")
SECTORS = 8192


def claim(name: str, text: str) -> None:
    """Tell the script what it should have seen."""
    data = f"{name} {text}".encode()
    LIBC.write(-1, data, len(data))


def kernel_dev(number: int) -> int:
    """Convert a device number to what the kernel has inside."""
    return os.major(number) << 20 | os.minor(number)


def call(name: str, *args: object) -> int:
    """Call a function of the C library that must not fail."""
    LIBC[name].restype = ctypes.c_long
    done = int(LIBC[name](*args))
    assert done >= 0, (name, os.strerror(ctypes.get_errno()))
    return done


def make_disk() -> None:
    """Mount an empty FAT12: boot sector, two tables of 4 sectors, 512 entries, 4 KiB clusters."""
    subprocess.run(["modprobe", "brd", "rd_nr=1", f"rd_size={SECTORS // 2}"], check=True)
    boot = b"\xeb\x3c\x90" + b"stapy   "
    boot += struct.pack("<HBHBHHBHHHII", 512, 8, 1, 2, 512, SECTORS, 0xF8, 4, 32, 2, 0, 0)
    boot += struct.pack("<BBBI11s8s", 0x80, 0, 0x29, 1, b"STAPY      ", b"FAT12   ")
    table = b"\xf8\xff\xff".ljust(4 * 512, b"\0")
    image = boot.ljust(510, b"\0") + b"\x55\xaa" + 2 * table + bytes(32 * 512)
    Path(DISK).write_bytes(image)
    MOUNTED.mkdir()
    subprocess.run(["mount", "-t", "vfat", DISK, MOUNTED], check=True)


def failing_open() -> None:
    """Open a device that no driver has."""
    node = "/tmp/no_driver"
    os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(240, 9))
    try:
        os.open(node, os.O_RDWR)
    except OSError as error:
        claim("failing", f"{node} error={-error.errno} ENXIO")
    Path(node).unlink()


def vector(*pieces: tuple[int, int]) -> ctypes.Array:
    """Make a struct iovec[] of addresses and lengths."""
    words = [word for piece in pieces for word in piece]
    return (ctypes.c_ulong * len(words))(*words)


make_disk()
path = str(MOUNTED / "file")
handle = os.open(path, os.O_RDWR | os.O_CREAT)
facts = Path(path).stat()
dev, ino = kernel_dev(facts.st_dev), facts.st_ino
own = f"dev={dev} ino={ino} ram0 {path}"
claim("vfs.open", f"{path} ret=0 cred=1")
failing_open()

memory = ctypes.create_string_buffer(b"x" * 12000, 16384)
at = ctypes.addressof(memory)
call("write", handle, ctypes.c_void_p(at), 12000)
for name in ("vfs.write", "vfs.do_sync_write"):
    claim(name, f"{own} pos=0 want=12000 buf={at} done=12000 error=0")
claim("generic.fop.write_iter", f"{own} pos=0 count=12000 size=12000 bytes buf={at}")
claim("generic.fop.write_iter.return", f"{path} size=12000 bytes nr_segs=1")
claim("vfs.add_to_page_cache", f"dev={dev} ino={ino} ram0 index=0 nrpages=0 size=0 pages")

pieces = vector((at, 100), (at + 200, 50), (at + 300, 7))
call("pwritev", handle, pieces, 3, ctypes.c_long(12000))
claim("vfs.writev", f"{own} pos=12000 vlen=3 want=157 done=157 error=0")
os.fsync(handle)
claim("generic.aop.writepages", f"dev={dev} ino={ino} ram0 pages")

os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
os.lseek(handle, 0, os.SEEK_SET)
call("read", handle, ctypes.c_void_p(at), 5000)
for name in ("vfs.read", "vfs.do_sync_read"):
    claim(name, f"{own} pos=0 want=5000 buf={at} done=5000 error=0")
claim("generic.fop.read_iter", f"{own} pos=0 count=5000 size=5000 bytes buf={at}")
claim("generic.fop.read_iter.return", f"{path} size=5000 bytes nr_segs=1 read=5000")
claim("vfs.do_mpage_readpage", f"dev={dev} ino={ino} ram0 index=0 argstr=0 pages")

pieces = vector((at, 10), (at + 200, 20))
call("preadv", handle, pieces, 2, ctypes.c_long(5))
claim("vfs.readv", f"{own} pos=5 vlen=2 want=30 done=30 error=0")

os.lseek(handle, 77, os.SEEK_CUR)
claim("generic.fop.llseek", f"{own} offset=77 whence=1 SEEK_CUR argstr=77, 1")
claim("generic.fop.llseek.return", f"{path} offset=77 SEEK_CUR ret=5077 error=0")
try:
    os.lseek(handle, -9, os.SEEK_SET)
except OSError as error:
    claim("generic.fop.llseek.wrong", f"{path} error={-error.errno} EINVAL")

area = mmap.mmap(handle, 8192, mmap.MAP_SHARED, mmap.PROT_READ)
for line in Path("/proc/self/maps").read_text().splitlines():
    if line.endswith(path):
        first, last = (int(word, 16) for word in line.split()[0].split("-"))
        claim("generic.fop.mmap", f"{own} {first:x}-{last:x} ret=0 error=0")
area.close()

out, into = os.pipe()
os.splice(handle, into, 3000, offset_src=1000)
claim(
    "generic.fop.splice_read",
    f"{own} {os.major(facts.st_dev)}:{os.minor(facts.st_dev)} len=3000 size=3000 bytes done=3000",
)
os.splice(out, handle, 3000, offset_dst=0)
claim("generic.fop.splice_write", f"{own} len=3000 size=3000 bytes done=3000")
os.close(handle)
subprocess.run(["umount", MOUNTED], check=True)
subprocess.run(["modprobe", "-r", "vfat", "nls_cp437", "nls_ascii", "brd"], check=True)
print("done", flush=True)

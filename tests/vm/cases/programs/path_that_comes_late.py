"""Open a path whose memory is mapped, but was not touched before the kernel reads it."""

import ctypes
import mmap
import tempfile

with tempfile.TemporaryFile() as file:
    file.write(b"/etc/hostname-of-a-late-path".ljust(mmap.PAGESIZE, b"\0"))
    file.flush()
    mapped = mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    libc = ctypes.CDLL(None)
    libc.openat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    libc.openat(-100, address, 0)

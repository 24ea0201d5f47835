"""Memory is taken by calloc (7777000 bytes) and malloc, moved by realloc (8888888), never freed.

It cannot be moved to where there is no room, and is still there; what is made nothing is freed.
"""

import ctypes

libc = ctypes.CDLL(None)
libc.calloc.restype = libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
libc.calloc(ctypes.c_size_t(1000), ctypes.c_size_t(7777))
place = libc.malloc(ctypes.c_size_t(6666666))
place = libc.realloc(ctypes.c_void_p(place), ctypes.c_size_t(8888888))
assert libc.realloc(ctypes.c_void_p(place), ctypes.c_size_t(1 << 62)) is None
freed = libc.malloc(ctypes.c_size_t(5555555))
libc.realloc(ctypes.c_void_p(freed), ctypes.c_size_t(0))

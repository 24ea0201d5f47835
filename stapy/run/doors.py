"""Modules into the kernel and out: by system calls, else by the programs insmod and rmmod.

Python makes system calls by `ctypes`, which Debian's `python3-minimal` lacks.
"""

from __future__ import annotations

import errno
import os

from .errors import RunError
from .lacks import lacks, program, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

# finit_module, delete_module and init_module by machine; glibc has no wrapper for the first.
_CALLS = {
    "x86_64": (313, 176, 175),
    "i386": (350, 129, 128),
    "i486": (350, 129, 128),
    "i586": (350, 129, 128),
    "i686": (350, 129, 128),
    "aarch64": (273, 106, 105),
    "riscv64": (273, 106, 105),
    "loongarch64": (273, 106, 105),
    "armv7l": (379, 129, 128),
    "ppc64le": (353, 129, 128),
    "ppc64": (353, 129, 128),
    "s390x": (344, 129, 128),
}

# What kmod and busybox say in place of an errno's text.
_SAID = {
    "invalid module format": errno.ENOEXEC,
    "unknown symbol in module": errno.ENOENT,
    "unknown symbol in module, or unknown parameter": errno.ENOENT,
    "invalid parameters": errno.EINVAL,
    "kernel does not support requested operation": errno.ENOSYS,
    "is in use": errno.EBUSY,
    "is not currently loaded": errno.ENOENT,
}
_NOEXEC_SEAL = 8  # a file in memory that is no program: some machines take no other


def load(fd: int, image: "Optional[bytes]", parameters: "List[bytes]") -> None:
    """Load a module from an open file, or from the bytes of ``image``; `OSError` as it fails."""
    if lacks("ctypes"):
        kept = -1 if image is None else _in_memory(image)
        try:
            # A file is named by its descriptor: no other one can take its place.
            words = [*_program("insmod"), "/proc/self/fd/3", *map(os.fsdecode, parameters)]
            _obey(words, fd if image is None else kept)
        finally:
            if kept >= 0:
                os.close(kept)
        return
    import ctypes

    finit, _, init = _numbers()
    text = ctypes.c_char_p(b" ".join(parameters))
    if image is None:
        _call(finit, ctypes.c_int(fd), text, ctypes.c_int(0))
    else:
        _call(init, ctypes.c_char_p(image), ctypes.c_ulong(len(image)), text)


def unload(name: str) -> None:
    """Unload a module, or raise `OSError` at once when it is in use."""
    if lacks("ctypes"):
        _obey([*_program("rmmod"), name])
        return
    import ctypes

    _, delete, _ = _numbers()
    _call(delete, ctypes.c_char_p(name.encode()), ctypes.c_int(os.O_NONBLOCK))


def closed() -> str:
    """Say what is missing to load and unload modules here, "" for nothing."""
    if not lacks("ctypes") or (_found("insmod") and _found("rmmod")):
        return ""
    return (
        "modules cannot be loaded: this Python has no module ctypes, and there are no programs "
        "insmod and rmmod: apt-get install kmod"
    )


def _call(number: int, *arguments: object) -> None:
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    if syscall(number, *arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _numbers() -> "tuple[int, int, int]":
    machine = os.uname().machine
    if machine not in _CALLS:
        raise RunError(f"modules cannot be loaded on {machine}: its system calls are not known")
    return _CALLS[machine]


def _found(name: str) -> "List[str]":
    """Find insmod or rmmod, which may be a part of busybox."""
    words = program(name)
    box = [] if words else program("busybox")
    if box:
        try:
            if name in run([*box, "--list"])[1].split():
                words = [*box, name]
        except OSError:
            pass  # it is no busybox that runs here
    return words


def _program(name: str) -> "List[str]":
    words = _found(name)
    if not words:
        raise RunError(closed())
    return words


def _obey(words: "List[str]", fd: int = -1) -> None:
    """Run such a program; `OSError` with what the kernel had against it."""
    try:
        status, text = run(words, fd)
    except OSError as error:
        raise RunError(f"cannot run '{words[0]}': {error.strerror}") from None
    if not status:
        return
    code = errno_of(text)
    if not code:
        said = text.splitlines()[-1] if text else f"it ended with status {status}"
        raise RunError(f"'{' '.join(words[:2])}' failed: {said}")
    raise OSError(code, os.strerror(code))


def errno_of(text: str) -> int:
    """Find the errno in what insmod or rmmod said, 0 when there is none."""
    for line in text.splitlines():
        told = line.strip().rstrip(".").lower()
        for words, code in _SAID.items():
            if told.endswith(words):
                return code
        for code in sorted(errno.errorcode):
            if told.endswith(": " + os.strerror(code).lower()):
                return code
    return 0


def _in_memory(image: bytes) -> int:
    """Make a file of bytes that nobody can open for writing; return a descriptor to read it."""
    fd = -1
    for more in (_NOEXEC_SEAL, 0):
        try:
            fd = os.memfd_create("stapy", os.MFD_CLOEXEC | more)
            break
        except OSError as error:
            if not more:
                raise RunError(f"no memory for the module: {error.strerror}") from None
    try:
        rest = memoryview(image)
        while rest:
            rest = rest[os.write(fd, rest) :]
        # The kernel takes no file that somebody may still write to.
        return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise RunError(f"no memory for the module: {error.strerror}") from None
    finally:
        os.close(fd)

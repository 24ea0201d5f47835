"""The running kernel: insert, look for and remove modules, with reasons when it refuses."""

from __future__ import annotations

import errno
import os
import time

from . import mark, refusals
from .elf import SIGNED, Elf, ModuleFile, build_id
from .errors import RunError
from .parameters import line

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


class KernelLog:
    """What the kernel printed since this object was made."""

    def __init__(self) -> None:
        try:
            self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self._fd = -1

    def lines(self) -> List[str]:
        """Read the lines that are new since the last call."""
        found: List[str] = []
        while self._fd >= 0:
            try:
                record = os.read(self._fd, 8192)
            except OSError as error:
                if error.errno == errno.EPIPE:  # the oldest were overwritten
                    continue
                break
            text = record.partition(b";")[2].partition(b"\n")[0]
            found.append(text.decode("utf-8", "replace"))
        return found

    def close(self) -> None:
        """Stop listening."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def insert(module: ModuleFile, parameters: List[str], image: Optional[bytes] = None) -> None:
    """Load a module, or ``image`` in place of its file; `RunError` when the kernel refuses.

    What the kernel gets is what was read and checked: the open file when nobody
    but us can have changed it since, else the bytes themselves.
    """
    import ctypes

    finit, _, init = _numbers()
    words = ctypes.c_char_p(line(parameters, module.parameters))
    if image is None and not module.is_fixed():
        image = module.elf.data
    log = KernelLog()
    try:
        if image is None:
            _call(finit, ctypes.c_int(module.fd), words, ctypes.c_int(0))
        else:
            _call(init, ctypes.c_char_p(image), ctypes.c_ulong(len(image)), words)
    except OSError as error:
        code = error.errno or 0
        text = f"Couldn't insert module '{module.path}': {os.strerror(code)}"
        # Another name makes the signature worthless, so it is left out of such an image.
        reason = refusals.reason(code, module.signed and not (image and not _is_signed(image)))
        if reason:
            text += f"\n  reason: {reason}"
        said = refusals.from_log(log.lines(), module.name)
        raise RunError("\n  kernel: ".join([text, *said])) from None
    finally:
        log.close()


def _is_signed(image: bytes) -> bool:
    return image.endswith(SIGNED)


def remove(name: str, seconds: float = 10.0) -> None:
    """Unload a module of ours, waiting a while for the last user of it to go.

    A module that is not ours is never unloaded, whoever asks: `RunError`.
    """
    import ctypes

    _, delete, _ = _numbers()
    end = time.monotonic() + seconds
    while True:
        if not mark.is_ours(name):
            if not mark.is_loaded(name):
                return
            if not mark.is_foreign(name) and time.monotonic() < end:
                time.sleep(0.02)
                continue
            raise RunError(mark.foreign(name))
        try:
            _call(delete, ctypes.c_char_p(name.encode()), ctypes.c_int(os.O_NONBLOCK))
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            if error.errno in (errno.EAGAIN, errno.EBUSY) and time.monotonic() < end:
                time.sleep(0.02)
                continue
            text = f"Couldn't remove module '{name}': {os.strerror(error.errno or 0)}"
            if error.errno == errno.EPERM and not refusals.may_load():
                text += f"\n  reason: {refusals.missing_capability()}"
            raise RunError(text) from None


def check(module: ModuleFile) -> None:
    """Refuse a module that does not fit this kernel before the kernel has to."""
    if not refusals.may_load():
        raise RunError(refusals.missing_capability())
    running = os.uname().release
    manifest = module.manifest()
    if module.release and module.release != running and not manifest.get("any_release"):
        raise RunError(
            f"module '{module.name}' was built for kernel {module.release}, "
            f"this is {running}; build it again with -r {running}"
        )
    for name, wanted in sorted((manifest.get("build_ids") or {}).items()):
        found = running_build_id(name)
        if found and wanted and found != wanted:
            raise RunError(
                f'Build-id mismatch [man error::buildid]: "{name}" expected {wanted} actual {found}'
            )


def running_build_id(name: str) -> str:
    """Read the build-id (hex) of "kernel", a loaded module or a file; "" without one."""
    try:
        if name.startswith("/"):
            with open(name, "rb") as file:
                return Elf(file.read(), name).build_id()
        path = f"/sys/module/{name}/notes/.note.gnu.build-id"
        if name == "kernel":
            path = "/sys/kernel/notes"
        with open(path, "rb") as file:
            return build_id(file.read())
    except (OSError, RunError):
        return ""


def our_modules(proc: str = "/proc") -> List[str]:
    """List our modules that are loaded, sorted; raises `RunError` when /proc is closed."""
    try:
        names = os.listdir(proc)
    except OSError as error:
        raise RunError(f"cannot read '{proc}': {error.strerror}") from None
    ours = (name[len("stapy_") :] for name in names if name.startswith("stapy_"))
    return sorted(name for name in ours if mark.is_ours(name))

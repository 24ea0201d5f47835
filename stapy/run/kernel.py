"""The running kernel: insert, look for and remove modules, with reasons when it refuses."""

from __future__ import annotations

import errno
import os
import time
from typing import Dict, List, Optional

from .elf import Elf, ModuleFile, build_id
from .errors import RunError

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

_REASONS: Dict[int, str] = {
    errno.ENOEXEC: "the kernel does not accept this file: it was built for another kernel or "
    "configuration",
    errno.EPERM: "not permitted: run as root; a locked-down kernel (secure boot) takes only "
    "modules that are signed with a key it knows",
    errno.ENOKEY: "the kernel takes only modules that are signed with a key it knows "
    "(enrol a key with mokutil, or switch secure boot off)",
    errno.EKEYREJECTED: "the kernel rejects the key that the module is signed with",
    errno.EBADMSG: "the module's signature is damaged",
    errno.EEXIST: "a module of this name is loaded and in use",
    errno.ENOMEM: "not enough memory: make the buffers (-s) or the arrays (-DMAXMAPENTRIES) "
    "smaller",
    errno.ENOENT: "it needs a symbol that this kernel or its modules do not have",
    errno.EINVAL: "the kernel found something invalid in it, or in a name=value",
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
        """The new lines."""
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
    """Load a module, or ``image`` in place of its file; `RunError` when the kernel refuses."""
    import ctypes

    finit, _, init = _numbers()
    log = KernelLog()
    fd = os.open(module.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        words = ctypes.c_char_p(" ".join(quote(word) for word in parameters).encode())
        if image is None:
            _call(finit, ctypes.c_int(fd), words, ctypes.c_int(0))
        else:
            _call(init, ctypes.c_char_p(image), ctypes.c_ulong(len(image)), words)
    except OSError as error:
        code = error.errno or 0
        text = f"Couldn't insert module '{module.path}': {os.strerror(code)}"
        if code in _REASONS:
            text += f"\n  reason: {_REASONS[code]}"
        said = [line for line in log.lines() if module.name in line][-3:]
        raise RunError("\n  kernel: ".join([text, *said])) from None
    finally:
        os.close(fd)
        log.close()


def quote(parameter: str) -> str:
    """``name=value`` as the kernel's parser takes it: quotes around blanks."""
    name, _, value = parameter.partition("=")
    return f'{name}="{value}"' if " " in value or "\t" in value else parameter


def remove(name: str, seconds: float = 10.0) -> None:
    """Unload a module, waiting a while for the last user of it to go."""
    import ctypes

    _, delete, _ = _numbers()
    end = time.monotonic() + seconds
    while True:
        try:
            _call(delete, ctypes.c_char_p(name.encode()), ctypes.c_int(os.O_NONBLOCK))
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            if error.errno in (errno.EAGAIN, errno.EBUSY) and time.monotonic() < end:
                time.sleep(0.02)
                continue
            raise RunError(
                f"Couldn't remove module '{name}': {os.strerror(error.errno or 0)}"
            ) from None


def loaded(name: str) -> bool:
    """True when a module of this name is in the kernel."""
    return os.path.isdir("/sys/module/" + name)


def check(module: ModuleFile) -> None:
    """Refuse a module that does not fit this kernel before the kernel has to."""
    if os.geteuid() != 0 and not _may_load():
        raise RunError("only root (or CAP_SYS_MODULE) can load a module: try sudo")
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


def _may_load() -> bool:
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("CapEff:"):
                    return bool(int(line.split()[1], 16) >> 16 & 1)
    except (OSError, ValueError):
        pass
    return False


def running_build_id(name: str) -> str:
    """The build-id of "kernel", of a loaded module or of a file; "" when there is none."""
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


def unused_modules(proc: str = "/proc") -> Optional[List[str]]:
    """Names of our modules that are loaded, None when /proc cannot be read."""
    try:
        names = os.listdir(proc)
    except OSError:
        return None
    return sorted(name[len("stapy_") :] for name in names if name.startswith("stapy_"))

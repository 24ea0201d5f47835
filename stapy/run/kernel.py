"""The running kernel: insert, look for and remove modules, with reasons when it refuses."""

from __future__ import annotations

import errno
import os
import time

from . import doors, fit, mark, refusals
from .elf import SIGNED, Elf, ModuleFile, build_id
from .errors import RunError
from .parameters import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional


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


def insert(
    module: ModuleFile,
    parameters: List[str],
    image: Optional[bytes] = None,
    by_option: bool = False,
) -> None:
    """Load a module, or ``image`` in place of its file; `RunError` when the kernel refuses.

    ``by_option``: the name of ``image`` is another one because -R asks for that.
    What the kernel gets is what was read and checked: the open file when nobody
    but us can have changed it since, else the bytes themselves.
    """
    words = [quote(word, module.parameters.get(word.partition("=")[0], "")) for word in parameters]
    if image is None and not module.is_fixed():
        image = module.elf.data
    log = KernelLog()
    try:
        doors.load(module.fd, image, words)
    except OSError as error:
        code = error.errno or 0
        text = f"Couldn't insert module '{module.path}': {os.strerror(code)}"
        stripped = module.signed and image is not None and not image.endswith(SIGNED)
        reason = refusals.reason(code, module.signed and not stripped)
        if stripped and code in (errno.EKEYREJECTED, errno.ENOKEY, errno.EPERM):
            reason = refusals.renamed(module.name, by_option)
        lines = log.lines()
        if code == errno.ENOEXEC:
            reason = fit.other_options(lines) or reason
        more = [f"reason: {reason}"] if reason else []
        more += [f"kernel: {line}" for line in refusals.from_log(lines, module.name)]
        raise RunError(text, *more) from None
    finally:
        log.close()


def remove(name: str, seconds: float = 10.0) -> None:
    """Unload a module of ours, waiting a while for the last user of it to go.

    A module that is not ours is never unloaded, whoever asks: `RunError`.
    """
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
            doors.unload(name)
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            if error.errno in (errno.EAGAIN, errno.EBUSY) and time.monotonic() < end:
                time.sleep(0.02)
                continue
            text = f"Couldn't remove module '{name}': {os.strerror(error.errno or 0)}"
            is_capability = error.errno == errno.EPERM and not refusals.may_load()
            more = [f"reason: {refusals.missing_capability()}"] if is_capability else []
            raise RunError(text, *more) from None


def check(module: ModuleFile) -> None:
    """Refuse a module that does not fit this kernel before the kernel has to."""
    if not refusals.may_load():
        raise RunError(refusals.missing_capability())
    lacking = doors.closed()
    if lacking:
        raise RunError(lacking)
    manifest = module.manifest()
    why = fit.other_machine(module)
    if not why and not manifest.get("any_release"):
        why = fit.other_release(module.release)
    if why:
        raise RunError(f"module '{module.name}' {why}")
    why = "" if module.signed else refusals.unsigned()
    if why:
        raise RunError(f"Couldn't insert module '{module.path}'", f"reason: {why}")
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

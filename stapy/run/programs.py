"""Programs that probe points name: opened here, where paths mean something, and handed over."""

from __future__ import annotations

import errno
import os

from .control import Channel
from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict


def hand_over(channel: Channel, manifest: Dict[str, Any]) -> None:
    """Open each program of a module's manifest and let the module hold it.

    One that is missing and that only optional points name is left out.
    Raises `RunError` for another.
    """
    for path, row in sorted((manifest.get("files") or {}).items()):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if row.get("optional") and error.errno in (errno.ENOENT, errno.ENOTDIR):
                continue
            raise RunError(
                f"Couldn't resolve target program file path '{path}': {error.strerror}"
            ) from None
        try:
            channel.hold(os.fsencode(path), fd)
        except OSError as error:
            why = "it is not a file" if error.errno == errno.EINVAL else error.strerror
            raise RunError(f"Couldn't probe the program '{path}': {why}") from None
        finally:
            os.close(fd)

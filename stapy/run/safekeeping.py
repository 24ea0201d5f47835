"""Files that are brought to the disk while the session goes on."""

from __future__ import annotations

import _thread
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple


class Safekeeping:
    """Brings files that are finished to the disk, one at a time, in a thread.

    The kernel itself would write them within half a minute; but what a recorder
    has written matters most when the machine has crashed since.
    """

    def __init__(self) -> None:
        self._busy = _thread.allocate_lock()
        self._error: Optional[OSError] = None

    def take(self, fd: int, name: str, next_one: "Optional[Tuple[str, str]]" = None) -> None:
        """Bring a file and its name to the disk and close it; waits while another one is under way.

        ``next_one`` is renamed then, from the first name to the second: who sees that one knows
        that the file before it is safe.

        Raises what `finish` does, about the file before; this one is closed then as well.
        """
        try:
            self.finish()
        except OSError:
            os.close(fd)
            raise
        self._busy.acquire()
        _thread.start_new_thread(self._keep, (fd, name, next_one))

    def finish(self) -> None:
        """Wait until the last file is on the disk; `OSError` with its name when it could not be."""
        with self._busy:
            error, self._error = self._error, None
        if error:
            raise error

    def _keep(self, fd: int, name: str, next_one: "Optional[Tuple[str, str]]") -> None:
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                os.fsync(fd)
                _keep_name(os.path.dirname(name) or ".")
        except OSError as error:
            error.filename = name
            self._error = error
        finally:
            os.close(fd)
            self._rename(next_one)
            self._busy.release()

    def _rename(self, next_one: "Optional[Tuple[str, str]]") -> None:
        """Give the next file its name, also when the one before it is not on the disk."""
        if not next_one:
            return
        try:
            _give_name(*next_one)
        except OSError as error:
            error.filename = next_one[0]
            self._error = self._error or error


def _give_name(waiting: str, name: str) -> None:
    """Rename a file to what nothing has: what came meanwhile stays, and the file under its name."""
    try:
        # What is replaced then is this file, which nobody else has made.
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o664))
    except FileExistsError:
        raise OSError(errno.EEXIST, f"'{name}' has been made by somebody else") from None
    os.rename(waiting, name)


def _keep_name(folder: str) -> None:
    """Bring the names in a folder to the disk, without which a new file is lost."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError:
        pass  # not every file system can do that with a folder; the file itself is safe
    finally:
        os.close(fd)

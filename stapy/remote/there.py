"""Run stapy-run for another machine: this text is sent to an interpreter there, it is not imported.

It unpacks what follows on its standard input into a folder of its own, runs it, hands signals on,
and removes the folder.  Each further byte of the input is a signal's number; the end of the input
is the end of the connection, and then of the session.  Python 3.9, and nothing that
python3-minimal lacks.
"""

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    from types import FrameType
else:
    import _signal as signal

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 5.0  # seconds in which a session may write what it still has, though nobody may read it
children: "list[int]" = []


def tell(number: int) -> None:
    """Send a signal to what runs; a process that was not waited for keeps its number."""
    for child in children:
        os.kill(child, number)


def come(number: int, frame: "FrameType | None") -> None:
    """Hand a signal on; without anything that runs it is meant for us."""
    tell(number)
    if not children:
        sys.exit(128 + number)


def take(size: int) -> bytes:
    """Read so many bytes of the input; EOFError when the connection ends before."""
    blocks = []
    while size:
        block = os.read(0, min(size, 1 << 16))
        if not block:
            raise EOFError
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def unpack(folder: str, files: "list[tuple[str, int]]") -> None:
    """Make the folder with what is sent: pairs of name and size."""
    os.mkdir(folder, 0o700)
    for name, size in files:
        path = folder + "/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(take(size))


def remove(folder: str) -> None:
    """Remove the folder with all that is in it."""
    for place, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(place + "/" + name)
        for name in folders:
            os.rmdir(place + "/" + name)
    if os.path.isdir(folder):
        os.rmdir(folder)


def listen() -> None:
    """Obey the other end of the connection; when it is gone, the session has no reader."""
    while True:
        try:
            came = os.read(0, 64)
        except OSError:
            came = b""
        for number in came:
            tell(number)
        if not came:
            break
    while children:
        tell(signal.SIGTERM)
        time.sleep(GRACE)


def run(argv: "list[str]") -> int:
    """Run a program without standard input to its end; its status as a shell counts it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            for number in HANDLED:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
            os.execv(argv[0], argv)
        finally:
            os._exit(127)
    children.append(child)
    _thread.start_new_thread(listen, ())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    children.clear()
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def main(folder: str, files: "list[tuple[str, int]]", words: "list[str]", mark: bytes) -> None:
    """Do it all; ``words`` are those behind the interpreter's own name.

    ``mark`` is printed first: what stands before it is of login scripts.
    """
    for number in HANDLED:
        signal.signal(number, come)
    status = 1
    try:
        os.write(1, mark)
        unpack(folder, files)
        status = run([sys.executable, "-ISB"] + words)
    except EOFError:
        pass  # nobody is left to tell
    except OSError as error:
        os.write(2, ("ERROR: cannot unpack stapy-run: %s\n" % error).encode())
    finally:
        remove(folder)
    os._exit(status)

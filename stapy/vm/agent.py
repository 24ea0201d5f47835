"""Process 1 of the guest: runs commands for the host and carries their streams.

One loop over poll(): the serial port, the pipes of the running command and a
pipe that SIGCHLD writes to.  Python 3.9, standard library, few imports: every
millisecond of start-up on the host is a dozen in the guest.

Arguments: the path of the serial port.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from stapy.vm.frames import (
    DMESG,
    EXEC,
    GONE,
    HEARD,
    HELLO,
    SIGNAL,
    STATUS,
    STDERR,
    STDIN,
    STDOUT,
    Command,
    Decoder,
    pack,
)

TYPE_CHECKING = False  # without the import of typing
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 16
PIPE = 1 << 16  # bytes that a pipe holds
PENDING = 1 << 20  # bytes for the host above which the command has to wait
GRACE = 0.3  # seconds for what is still in the pipes of a dead command's children


class RunningCommand:
    """The running command: its process and our ends of its pipes."""

    def __init__(self, command: Command) -> None:
        self.status = -1
        self.dead_at = 0.0
        self.unsent = bytearray()  # standard input that the command has not taken yet
        self.input_ends = False
        inside_in, self.stdin = os.pipe()
        self.stdout, inside_out = os.pipe()
        self.stderr, inside_err = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            become(command, inside_in, inside_out, inside_err)
        for end in (inside_in, inside_out, inside_err):
            os.close(end)
        os.set_blocking(self.stdin, False)
        if not command.stdin:
            self.close("stdin")

    def close(self, name: str) -> None:
        """Close one of our ends once."""
        fd = getattr(self, name)
        if fd >= 0:
            os.close(fd)
            setattr(self, name, -1)

    def feed(self) -> None:
        """Give the command what it takes of the waiting standard input."""
        if self.stdin < 0:
            self.unsent.clear()
            return
        try:
            while self.unsent:
                del self.unsent[: os.write(self.stdin, self.unsent[:BLOCK])]
        except BlockingIOError:
            return
        except OSError:  # the command does not read any more
            self.unsent.clear()
            self.close("stdin")
            return
        if self.input_ends:
            self.close("stdin")


def held(fd: int) -> Iterator[bytes]:
    """Yield what a pipe holds, without waiting for more than that.

    The seconds of `GRACE` may pass in one moment on a host that has no time for us.
    """
    for _ in range(PIPE // BLOCK + 1):  # what still writes shall not keep us
        if fd < 0 or not select.select([fd], [], [], 0)[0]:
            return
        data = os.read(fd, BLOCK)
        if not data:
            return
        yield data


def become(command: Command, stdin: int, stdout: int, stderr: int) -> None:
    """Turn this child into the command; never returns."""
    status = 127
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for number, fd in enumerate((stdin, stdout, stderr)):
            os.dup2(fd, number)
        os.closerange(3, 64)
        os.chdir(command.cwd)
        argv = command.argv
        if is_consumer(argv):
            run_consumer(command)
        os.execvpe(argv[0], argv, command.env)
    except SystemExit as end:
        code = end.code
        status = code if isinstance(code, int) else 0 if code is None else 1
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        os.write(2, f"{command.argv[0]}: {error.strerror}\n".encode())
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    finally:
        os._exit(status)


def is_consumer(argv: list[str]) -> bool:
    """Tell whether a command is ``python3 -m stapy.run …`` with the interpreter that runs us."""
    return argv[0] == sys.executable and argv[1:3] == ["-m", "stapy.run"]


def preload() -> None:
    """Import here, once, what each consumer needs: one that is forked has it then.

    Its own modules import some of it only where it is used, for a consumer that never gets there.
    """
    import _json  # noqa: F401
    import ctypes  # noqa: F401
    import encodings.ascii  # noqa: F401
    import fcntl  # noqa: F401
    import zlib  # noqa: F401

    import stapy.run.cli  # noqa: F401


def run_consumer(command: Command) -> None:
    """Run the consumer in this very interpreter: starting another takes a second here."""
    from stapy.run.cli import main as consume

    os.environ.clear()
    os.environ.update(command.env)
    sys.argv = ["stapy-run", *command.argv[3:]]
    raise SystemExit(consume())


def loaded_modules() -> set[str]:
    """Read the names of the modules in the kernel."""
    with open("/proc/modules", encoding="ascii") as file:
        return {line.partition(" ")[0] for line in file}


class Agent:
    """The loop; one command at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.decoder = Decoder()
        self.outgoing = bytearray()
        self.job: RunningCommand | None = None
        self.modules = loaded_modules()
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.wake, wake_in = os.pipe()
        for fd in (self.wake, wake_in):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Queue a frame for the host."""
        self.outgoing += pack(kind, payload)

    def serve(self) -> None:
        """Run until the host closes the port."""
        self.send(HELLO, os.uname().release.encode())
        while True:
            poll = select.poll()
            poll.register(self.port, select.POLLIN | (select.POLLOUT if self.outgoing else 0))
            poll.register(self.wake, select.POLLIN)
            job = self.job
            timeout = None
            if job:
                if len(self.outgoing) < PENDING:
                    for fd in (job.stdout, job.stderr):
                        if fd >= 0:
                            poll.register(fd, select.POLLIN)
                if job.unsent and job.stdin >= 0:
                    poll.register(job.stdin, select.POLLOUT)
                if job.dead_at:
                    timeout = max(0, int((job.dead_at + GRACE - time.monotonic()) * 1000) + 1)
            for fd, event in poll.poll(timeout):
                if fd == self.wake:
                    self.drain_wake()
                elif fd == self.port:
                    self.serve_port(event)
                elif job and fd == job.stdin:
                    job.feed()
                elif job and fd == job.stdout:
                    self.forward("stdout", STDOUT)
                elif job and fd == job.stderr:
                    self.forward("stderr", STDERR)
            self.reap()
            self.finish()

    def serve_port(self, event: int) -> None:
        """Move bytes over the port in both directions."""
        if event & select.POLLOUT and self.outgoing:
            try:
                del self.outgoing[: os.write(self.port, self.outgoing[:BLOCK])]
            except BlockingIOError:
                pass
        if event & (select.POLLIN | select.POLLHUP):
            try:
                data = os.read(self.port, BLOCK)
            except BlockingIOError:
                return
            if not data:  # nobody listens: the machine has no purpose
                os.sync()
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(1)
                raise SystemExit(1)
            for kind, payload in self.decoder.feed(data):
                self.obey(kind, payload)

    def obey(self, kind: bytes, payload: bytes) -> None:
        """Carry out one frame."""
        job = self.job
        if kind == EXEC and job is None:
            self.read_kmsg()  # what came before is not this command's
            command = Command.decode(payload)
            if is_consumer(command.argv):
                preload()
            self.job = RunningCommand(command)
        elif kind == STDIN and job:
            job.unsent += payload
            job.input_ends = job.input_ends or not payload
            job.feed()
        elif kind == GONE and job:
            # The next write there fails, as one to a pipe without a reader does on the host.
            job.close("stdout" if payload == STDOUT else "stderr")
        elif kind == SIGNAL:
            self.send(HEARD)
            if job is None or job.dead_at:
                return
            try:
                os.killpg(job.pid, int(payload))
            except OSError:
                pass  # it has just ended

    def forward(self, name: str, kind: bytes) -> bool:
        """Move one block from the command to the host; False when there was none."""
        job = self.job
        if job is None or getattr(job, name) < 0:
            return False
        data = os.read(getattr(job, name), BLOCK)
        if data:
            self.send(kind, data)
        else:
            job.close(name)
        return bool(data)

    def drain_wake(self) -> None:
        """Empty the pipe that signals write to."""
        try:
            while os.read(self.wake, 512):
                pass
        except BlockingIOError:
            pass

    def reap(self) -> None:
        """Collect dead children: the command and, as process 1, every orphan."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.job and pid == self.job.pid:
                self.job.dead_at = time.monotonic()
                self.job.status = (
                    128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                )

    def finish(self) -> None:
        """Report the end of the command once its pipes are empty or its time is up."""
        job = self.job
        if job is None or not job.dead_at:
            return
        open_pipes = job.stdout >= 0 or job.stderr >= 0
        if open_pipes and time.monotonic() < job.dead_at + GRACE:
            return
        for name, kind in (("stdout", STDOUT), ("stderr", STDERR)):
            for data in held(getattr(job, name)):
                self.send(kind, data)
        for name in ("stdin", "stdout", "stderr"):
            job.close(name)
        self.job = None
        try:
            os.kill(-1, signal.SIGKILL)  # whatever the command left behind
        except OSError:
            pass
        messages = self.read_kmsg()
        for at in range(0, len(messages), 1 << 20):
            self.send(DMESG, messages[at : at + (1 << 20)])
        left = " ".join(sorted(loaded_modules() - self.modules))
        self.send(STATUS, f"{job.status} {left}".encode())

    def read_kmsg(self) -> bytes:
        """Read all kernel messages since the last call, one per line with its time."""
        lines: list[bytes] = []
        while True:
            try:
                record = os.read(self.kmsg, 8192)
            except BlockingIOError:
                return b"".join(lines)
            except OSError:  # overwritten while we read: go on with what is there
                continue
            head, _, text = record.partition(b";")
            fields = head.split(b",")
            if len(fields) > 2 and not fields[0].startswith(b" "):
                micros = int(fields[2])
                stamp = b"[%5d.%06d] " % (micros // 1000000, micros % 1000000)
                lines.append(stamp + text.split(b"\n", 1)[0] + b"\n")


def main() -> None:
    """Serve the port named on the command line."""
    port = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    Agent(port).serve()


if __name__ == "__main__":
    main()

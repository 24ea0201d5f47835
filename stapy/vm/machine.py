"""A guest that runs commands: one, or many in one boot.

`Machine.run` gives a `VmResult` for every way in which a run can end; it boots
when there is no guest (at first, and after a crash).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from stapy.ending import heard
from stapy.paths import cache_dir
from stapy.record import Record, new
from stapy.vm import classify, frames, kernels
from stapy.vm.errors import VmError
from stapy.vm.qemu import Processes, Shape
from stapy.vm.reader import OutputReader
from stapy.vm.tree import interpreter, tree_of

EXITED = "exited"
PANIC = "panic"
TIMEOUT = "timeout"
COMPLAINED = "complained"

BOOTS = 2  # tries: an emulated kernel crashes once in some hundred starts by itself
BOOT_SECONDS = 90.0  # on an old machine; four on a new one; more if the kernel is slow
DEAF_SECONDS = 30.0  # until a guest that does not even hear signals is given up
SHARE = "/run/stapy/share"  # where the guest sees `Machine.share`
_BLOCK = 1 << 16
_OWN = "stapy-vm: "  # begins what the guest's first program says
_LOGS_KEPT = 20
_KEPT = ("COLUMNS", "LINES", "TERM", "TZ", "NO_COLOR", "SYSTEMTAP_COLORS")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2)

Sink = Callable[[bytes], object]


class VmResult(Record):
    """How a run ended; ``status`` counts as a shell does and is -1 without an exit."""

    kind: str
    status: int = -1
    stdout: bytes = b""
    stderr: bytes = b""
    dmesg: str = ""
    complaints: list[tuple[str, str]] = new(list)
    log_path: Path | None = None
    left_modules: list[str] = new(list)
    seconds: float = 0.0


class Machine:
    """A guest with kernel ``release``; a context manager, for it must be closed."""

    def __init__(
        self,
        release: str | None = None,
        cpus: int = 1,
        memory: int = 1024,
        timeout: float = 60.0,
        extra: list[str] | None = None,
        command_line: str = "",
        sysroot: str | None = None,
        wanted: str = "",
    ) -> None:
        release = release or kernels.default_release(sysroot, wanted)
        self.kernel = kernels.find(release, sysroot, wanted)
        self.release = self.kernel.release
        self.shape = Shape(cpus, memory, extra or [], command_line)
        self.timeout = timeout
        self.boots = 0
        self._processes: Processes | None = None
        self._decoder = frames.Decoder()
        self._outgoing = bytearray()
        self._interrupts = 0
        self._unheard = 0.0  # when the first signal was sent that the guest has not heard
        self._pushed = 0
        self._up = False
        self._wake = -1

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Switch the guest off and remove everything that it needed."""
        if self._processes:
            self._processes.close()
            self._processes = None

    def nmi(self) -> None:
        """Send an NMI to the guest, which must not take it for a reason to panic."""
        if self._processes:
            self._processes.nmi()

    @property
    def share(self) -> Path:
        """A folder of the host that the guest sees as `SHARE` and may write to."""
        return self.start().share

    def push(self, path: Path) -> str:
        """Make a file that may be newer than the boot visible; its path in the guest.

        The guest's view of the host's own tree lies under an overlay, which
        need not notice what changes below it.
        """
        self._pushed += 1
        folder = self.share / str(self._pushed)
        folder.mkdir()
        (folder / path.name).write_bytes(path.read_bytes())
        return f"{SHARE}/{self._pushed}/{path.name}"

    def start(self) -> Processes:
        """Begin to boot unless the guest runs; `boot` or the first `run` waits for it.

        What was put into the share waits there for the next command: a guest that died
        before it was up is left to `boot`, which starts it again with the same share.
        """
        if self._processes and (self._processes.is_alive() or not self._up):
            return self._processes
        self.close()
        self._decoder, self._outgoing = frames.Decoder(), bytearray()
        self._up = False
        self._processes = processes = Processes(self.kernel, self.shape)
        self.boots += 1
        return processes

    def boot(self) -> Processes:
        """Start the guest unless it runs, and wait until it is ready."""
        processes = self.start()
        if self._up:
            return processes
        deadline = time.monotonic() + BOOT_SECONDS * self.kernel.patience()
        try:
            for left in reversed(range(BOOTS)):
                if self._hello(processes, deadline):
                    return processes
                if not left or processes.is_alive() or _OWN in processes.console_text():
                    break
                self._decoder = frames.Decoder()
                processes.again()
        except BaseException:
            self.close()
            raise
        log = processes.console_text()
        said = processes.messages()
        kept = self._keep_log(log + said)
        self.close()
        own = [line for line in log.splitlines() if _OWN in line]
        own = own or [line for line in log.splitlines() if "Kernel panic" in line or "Oops" in line]
        lines = own or (said or log).strip().splitlines() or ["no message"]
        raise VmError(
            f"the machine with {self.release} does not start: {lines[-1]}",
            hint=f"its log is {kept}",
        )

    def _hello(self, processes: Processes, deadline: float) -> bool:
        """Wait until the guest is ready; False when it died or takes too long."""
        self._up = any(kind == frames.HELLO for kind, _ in self._frames(processes, deadline))
        return self._up

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes | int | None = None,
        stdout: Sink | None = None,
        stderr: Sink | None = None,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
        forward_signals: bool = False,
        tick: Callable[[], object] | None = None,
    ) -> VmResult:
        """Run a command; streams go live to the sinks, or into the result without them.

        ``stdin`` is the whole input or a descriptor to read from; ``timeout``
        is in seconds, 0 for none; ``tick`` is called now and then meanwhile.
        """
        processes = self.boot()
        seconds = self.timeout if timeout is None else timeout
        started = time.monotonic()
        deadline = started + seconds if seconds else float("inf")
        command = frames.Command(
            argv,
            self._environment() if env is None else env,
            cwd or ("/" if self.kernel.is_foreign() else os.getcwd()),  # noqa: PTH109
            stdin is not None,
        )
        self._send(frames.EXEC, command.encode())
        if isinstance(stdin, bytes):
            for at in range(0, len(stdin), _BLOCK):
                self._send(frames.STDIN, stdin[at : at + _BLOCK])
            self._send(frames.STDIN)
        source = stdin if isinstance(stdin, int) else None
        result = VmResult(EXITED)
        kept: dict[bytes, list[bytes]] = {frames.STDOUT: [], frames.STDERR: [], frames.DMESG: []}
        sinks: dict[bytes, Sink] = {
            frames.STDOUT: stdout or kept[frames.STDOUT].append,
            frames.STDERR: stderr or kept[frames.STDERR].append,
            frames.DMESG: kept[frames.DMESG].append,
        }
        readers = {kind: sink for kind, sink in sinks.items() if isinstance(sink, OutputReader)}
        try:
            with self._signals(forward_signals):
                for kind, payload in self._frames(processes, deadline, source, tick, readers):
                    if kind in sinks:
                        sinks[kind](payload)
                    elif kind == frames.HEARD:
                        self._unheard = 0.0
                    elif kind == frames.STATUS:
                        status, *result.left_modules = payload.decode().split()
                        result.status = int(status)
                        break
        except BaseException:
            self.close()  # the guest is in the middle of something that nobody waits for
            raise
        result.seconds = time.monotonic() - started
        result.stdout = b"".join(kept[frames.STDOUT])
        result.stderr = b"".join(kept[frames.STDERR])
        result.dmesg = b"".join(kept[frames.DMESG]).decode("utf-8", "replace")
        return self._judge(processes, result)

    def consumer_command(self) -> list[str]:
        """Return the start of a command that runs ``stapy-run`` in this guest."""
        return [tree_of(self.kernel).interpreter, "-m", "stapy.run"]

    def _environment(self) -> dict[str, str]:
        """Choose what commands find in their environment: of places of other files, nothing."""
        env = guest_environment()
        if not self.kernel.is_foreign():
            return env
        kept = {name: value for name, value in env.items() if name in _KEPT}
        return {**kept, "PATH": _PATH, "HOME": "/root", "PYTHONPATH": "/run/stapy/lib"}

    def _judge(self, processes: Processes, result: VmResult) -> VmResult:
        """Decide what kind of end this was; keep the log of a bad one."""
        if result.status < 0:
            late = processes.is_alive()
            if late:
                processes.interrupt()
            result.dmesg += processes.console_text() + processes.messages()
            result.kind = TIMEOUT if late else PANIC
            self.close()
        result.complaints = classify.complaints(result.dmesg)
        if result.kind == EXITED and result.complaints:
            result.kind = COMPLAINED
        if result.kind != EXITED:
            result.log_path = self._keep_log(result.dmesg)
        return result

    def _keep_log(self, text: str) -> Path:
        folder = cache_dir() / "vm" / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("*.log"))[: -_LOGS_KEPT + 1]:
            old.unlink(missing_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = folder / f"{stamp}-{self.release}-{os.getpid()}-{self.boots}.log"
        path.write_text(text)
        return path

    def _send(self, kind: bytes, payload: bytes = b"") -> None:
        self._outgoing += frames.pack(kind, payload)

    def _frames(
        self,
        processes: Processes,
        deadline: float,
        source: int | None = None,
        tick: Callable[[], object] | None = None,
        readers: Mapping[bytes, OutputReader] | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield what the guest sends, until it dies or time is up; send what waits meanwhile.

        Time in which a busy host did not let the emulator run is not counted.  The guest is told
        which of the ``readers`` have left.
        """
        listening = dict(readers or {})
        port = processes.port
        port.setblocking(False)
        before = starved = processes.starved()
        while True:
            deaf = self._unheard + DEAF_SECONDS * self.kernel.patience()
            end = (min(deadline, deaf) if self._unheard else deadline) + starved - before
            left = end - time.monotonic()
            if self._interrupts > 2:
                return
            if left <= 0:
                now = processes.starved()
                if now <= starved:
                    return
                starved = now
                continue
            for kind in [kind for kind, reader in listening.items() if reader.is_gone]:
                del listening[kind]
                self._send(frames.GONE, kind)
            poll = select.poll()
            for reader in listening.values():
                poll.register(reader.fd, 0)  # to hear when it leaves
            poll.register(port, select.POLLIN | (select.POLLOUT if self._outgoing else 0))
            if source is not None and len(self._outgoing) < _BLOCK:
                poll.register(source, select.POLLIN)
            wake = self._wake
            if wake >= 0:
                poll.register(wake, select.POLLIN)
            wait = min(left, 0.1 if tick else 3600)
            for fd, event in poll.poll(int(wait * 1000) + 1):
                if fd == wake:
                    with contextlib.suppress(OSError):
                        os.read(wake, 512)
                elif fd == source:
                    data = os.read(source, _BLOCK)
                    self._send(frames.STDIN, data)
                    if not data:
                        source = None
                elif fd != port.fileno():
                    for reader in listening.values():
                        reader.is_gone |= reader.fd == fd
                else:
                    received = self._exchange(port, event)
                    if received == b"":
                        with contextlib.suppress(Exception):
                            processes.qemu.wait(5)
                        return
                    if received:
                        yield from self._decoder.feed(received)
            if tick:
                tick()

    def _exchange(self, port: socket.socket, event: int) -> bytes | None:
        """Send what waits and return what has come: None for nothing, b"" from a dead guest."""
        if event & select.POLLOUT and self._outgoing:
            with contextlib.suppress(OSError):
                del self._outgoing[: port.send(self._outgoing[:_BLOCK])]
        if not event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return None
        try:
            return port.recv(_BLOCK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    @contextlib.contextmanager
    def _signals(self, are_forwarded: bool) -> Iterator[None]:
        """Hold the signals that a user sends us, and pass them on to the guest."""
        self._interrupts = 0
        self._unheard = 0.0
        if not are_forwarded:
            yield
            return
        wake, wake_in = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wake_in, False)
        self._wake = wake

        def forward(number: int, frame: FrameType | None) -> None:
            self._send(frames.SIGNAL, str(number).encode())
            self._unheard = self._unheard or time.monotonic()
            if number in (signal.SIGINT, signal.SIGTERM):
                self._interrupts += 1  # the third one switches the machine off

        old = {number: signal.signal(number, forward) for number in heard(_FORWARDED)}
        old_fd = signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_fd)
            for number, handler in old.items():
                signal.signal(number, handler)
            self._wake = -1
            os.close(wake)
            os.close(wake_in)


def guest_environment() -> dict[str, str]:
    """Copy our environment as the guest's commands shall see it."""
    env = dict(os.environ)
    size = None
    for fd in (2, 1, 0):
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(fd)
            break
    if size:
        env.setdefault("COLUMNS", str(size.columns))
        env.setdefault("LINES", str(size.lines))
    return env


def consumer_command() -> list[str]:
    """Return the start of a command that runs ``stapy-run`` in the guest."""
    return [interpreter(), "-m", "stapy.run"]

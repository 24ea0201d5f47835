"""A session: load, start, move the output, stop, unload.

`Session` is the loop over the descriptors and knows nothing about how a module
gets into the kernel; `run` is the whole of pass 5.
"""

from __future__ import annotations

import _thread
import os
import select
import time

from . import beforehand, inside, kernel, loading, programs, refusals
from .control import Channel, folder_of
from .daemon import in_background
from .elf import ModuleFile
from .errors import RunError
from .messages import Messages
from .naming import Turn
from .options import RunOptions
from .output import Sink, make_sinks
from .signals import Signals, signal
from .target import Target, run_detached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from .supply import Supplier

BLOCK = 1 << 16
SYSTEM_GRACE = 0.5  # seconds that commands of system() get to end after the session


class Session:
    """The loop between a started module and its user."""

    def __init__(
        self,
        channel: Channel,
        sinks: List[Sink],
        messages: Messages,
        options: RunOptions,
        signals: Signals,
    ) -> None:
        self.channel = channel
        self.messages = messages
        self.options = options
        self.signals = signals
        self.target: Optional[Target] = None
        self.detached = False
        self.failed = False
        self.armed: Optional[Callable[[], None]] = None  # called when the probes are armed
        self.supplier: Optional[Supplier] = None  # of tables for user stacks
        self._sinks = dict(zip(channel.outputs, sinks))
        self._buffers: Dict[int, bytearray] = {fd: bytearray(BLOCK) for fd in channel.outputs}
        self._reading = list(channel.outputs)
        self._stopping = False
        self._stopped = False
        self._started = False
        self._abandoned = False
        self._cancelled = False  # by the user, before the probes were armed
        self._deadline = self._after(options.timeout)
        self._system: List[int] = []
        self._refused: List[str] = []
        self._commands: List[str] = []  # for the module, in this order
        self._telling = False
        self._trouble: Optional[BaseException] = None

    def start(self, target: int, namespaces: int = 0) -> None:
        """Tell the module to begin; `loop` does it.

        ``namespaces`` is the process in whose name spaces numbers are told.
        """
        self._commands.append(f"start {target} {namespaces}" if namespaces else f"start {target}")
        self._deadline = None  # until it is told

    @staticmethod
    def _after(seconds: Optional[float]) -> Optional[float]:
        return time.monotonic() + seconds if seconds else None

    def stop(self) -> None:
        """Ask the module to end the session; what is in its buffers still comes.

        One that has not begun, because its tables are not there yet, never does.
        """
        if not self._stopping:
            self._stopping = True
            self._commands = ["stop"]

    def give_up(self) -> None:
        """Stop, also while probes are being armed, which may take minutes."""
        if self._telling and not (self._started or self._stopping):
            try:
                self.channel.send("exit")
            except OSError:
                pass  # it has ended: "stop" will tell
        self.stop()

    def loop(self) -> None:
        """Run until the session is over, or detached."""
        while not self._over():
            if self._commands and not self._awaits_tables():
                command = self._commands.pop(0)
                if not self._stopping:
                    self._deadline = self._after(self.options.timeout)
                self._tell(command)
            else:
                self._step()

    def _awaits_tables(self) -> bool:
        """Whether the first hits would lack tables; who wants to stop does not wait for them.

        The time of -T is that of the session, which has not begun then.
        """
        return bool(self.supplier and self.supplier.preparing) and not self._stopping

    def _tell(self, command: str) -> None:
        """Send a command, while a thread goes on with the loop.

        The module runs its begin and end probes before the write returns, and
        what they print has to be taken meanwhile, or it does not fit.  They run
        in the thread that writes, and scripts may believe that it is the main
        thread of its process: only that is in the kernel's list of all tasks.
        """
        done = _thread.allocate_lock()
        done.acquire()
        self._telling = True
        _thread.start_new_thread(self._serve, (done,))
        try:
            self.signals.leave_to_others(True)
            self.channel.send(command)
        except OSError as error:
            self._refused.append(f"Couldn't {command.split()[0]} the module: {error.strerror}")
        finally:
            self.signals.leave_to_others(False)
            self._telling = False
            self.signals.nudge()
            done.acquire()
        if self._trouble:
            raise self._trouble

    def _serve(self, done: _thread.LockType) -> None:
        """The loop in its thread, until the main thread has sent its command."""
        try:
            while self._telling:
                self._step()
        except BaseException as trouble:
            self._trouble = trouble
        finally:
            done.release()

    def _step(self) -> None:
        """Wait until something happens, and serve it."""
        poll = select.poll()
        poll.register(self.signals.wake, select.POLLIN)
        if not self._stopped:
            poll.register(self.channel.control, select.POLLIN)
        for fd in self._reading:
            if not self._sinks[fd].busy:
                poll.register(fd, select.POLLIN)
        for sink in self._sinks.values():
            # Without events wanted, poll still tells that the reader is gone.
            poll.register(sink.fd, select.POLLOUT if sink.busy else 0)
        for fd in self.supplier.fds if self.supplier else ():
            poll.register(fd, select.POLLIN)
        for fd, event in poll.poll(self._patience()):
            if fd == self.signals.wake:
                self.signals.drain()
            elif fd == self.channel.control and not self._stopped:
                self._obey_module()
            elif fd in self._reading:
                self._move(fd)
            else:
                self._serve_sink(fd, event)
        for text in self._refused:
            self.messages.error(text)
            self._stopped, self._reading = True, []
        self._refused.clear()
        if self.supplier:
            self.supplier.serve()
        self._obey_user()
        self._reap()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self.messages.note("time is up")
            self.give_up()

    def _over(self) -> bool:
        if self.detached or self._abandoned:
            return True
        if not self._stopped or self._reading or self._commands or self._refused:
            return False
        return not any(sink.busy for sink in self._sinks.values())

    def _patience(self) -> Optional[int]:
        look = self.supplier.patience if self.supplier else None
        if self._deadline is None:
            return look
        left = max(0, int((self._deadline - time.monotonic()) * 1000)) + 1
        return left if look is None else min(left, look)

    def _move(self, fd: int) -> None:
        """Carry one block from the module to the user."""
        buffer = self._buffers[fd]
        try:
            count = os.readv(fd, [buffer])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.messages.error(f"Couldn't read the output: {error.strerror}")
            count = 0
        if count == 0:
            self._reading.remove(fd)
            return
        sink = self._sinks[fd]
        if sink.broken:
            return  # the reader is gone: the rest is read so that the module can end
        sink.write(memoryview(buffer)[:count])
        if sink.broken:
            self._lose_reader(sink)

    def _serve_sink(self, fd: int, event: int) -> None:
        for sink in self._sinks.values():
            if sink.fd == fd and not sink.broken:
                sink.flush()
                if event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) and not sink.busy:
                    sink.broken = True
                if sink.broken:
                    self._lose_reader(sink)

    def _lose_reader(self, sink: Sink) -> None:
        """Nobody reads the output any more: end the session without a fuss."""
        sink.discard()
        sink.fd = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        self.messages.note("nobody reads the output any more")
        self.stop()

    def _obey_module(self) -> None:
        rows, more = self.channel.messages()
        for kind, text in rows:
            self._obey(kind, text)
        if not more:
            self._stopped = True

    def _obey(self, kind: str, text: str) -> None:
        if kind == "warning":
            self.messages.warning(text)
        elif kind == "error":
            self.messages.error(text)
        elif kind == "log":
            self.messages.log(text)
        elif kind == "system":
            self._system.append(run_detached(text))
        elif kind == "switch_file":
            self._rotate()
        elif kind == "object":
            if self.supplier:
                self.supplier.answer(text)
        elif kind == "exit":
            self.stop()
        elif kind == "started":
            self._begin(int(text.split()[0]) if text.split() else 0)
        elif kind == "stopped":
            self._stopped = True
            # More than came: there was no room for the texts of some.
            self.messages.errors = max(self.messages.errors, int(text or 0))

    def _begin(self, status: int) -> None:
        """The module says how arming the probes went."""
        self._started = True
        if status != 0:
            self.failed = True
            if not self.messages.errors:
                why = refusals.arming(abs(status))
                self.messages.error(
                    f"Couldn't start the probes: {os.strerror(abs(status))}"
                    + (f"\n  reason: {why}" if why else "")
                )
            self.stop()
            return
        self.messages.note("probes are armed")
        if self.armed:
            self.armed()
        if self.target and not self._cancelled:
            self.target.release()
        if self.options.detach:
            self._detach()

    def _detach(self) -> None:
        try:
            self.channel.send("detach")
        except OSError as error:
            self.messages.error(f"Couldn't detach from the module: {error.strerror}")
            return
        self.detached = True

    def _rotate(self) -> None:
        """Go on with the next output files, where there are any."""
        for sink in self._sinks.values():
            sink.rotate()

    def _obey_user(self) -> None:
        for number in self.signals.take():
            if number == signal.SIGUSR2:
                self._rotate()
            elif number == signal.SIGQUIT:
                self._detach()
            elif self._stopping:
                # Asked twice: what nobody takes from us is lost, the module is not.
                if any(sink.busy for sink in self._sinks.values()) or self.signals.insisted:
                    self._abandoned = True
                self.signals.insisted = True
            else:
                self._cancelled = not self._started
                self.give_up()

    def _reap(self) -> None:
        if self.target and self.target.status is None and self.target.ended():
            self.messages.note("the command of -c has ended")
            self.target.outlived = self._stopping
            self.stop()
        self._reap_system()

    def _reap_system(self) -> None:
        for pid in list(self._system):
            if _gone(pid):
                self._system.remove(pid)

    def wait_for_system(self) -> None:
        """Give the last commands of ``system()`` a moment to print what they have."""
        end = time.monotonic() + SYSTEM_GRACE
        while self._system and time.monotonic() < end:
            time.sleep(0.01)
            self._reap_system()


def _gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def run(module_path: str, options: RunOptions) -> int:
    """Run a module as ``options`` say; the exit status of the session."""
    if options.daemon and not (options.delete or options.attach):
        return in_background(lambda armed: _obey(module_path, options, armed))
    return _obey(module_path, options)


def _obey(module_path: str, options: RunOptions, armed: Optional[Callable[[], None]] = None) -> int:
    messages = Messages(
        options.color, options.warnings, options.verbose, options.message_format == "json"
    )
    with Signals() as signals:
        try:
            if options.delete:
                return loading.delete(module_path, messages)
            if options.attach:
                return _attach(module_path, options, messages, signals)
            return _run(ModuleFile(module_path), options, messages, signals, armed)
        except RunError as error:
            messages.error(str(error))
            return 1


def _run(
    module: ModuleFile,
    options: RunOptions,
    messages: Messages,
    signals: Signals,
    armed: Optional[Callable[[], None]] = None,
) -> int:
    if not module.is_ours():
        raise RunError(f"'{module.path}' is not a module that stapy made")
    if not module.is_named():
        raise RunError(f"module '{module.path}' is damaged: it has two names")
    if not options.rename:
        loading.refuse_foreign(module.name)
    kernel.check(module)
    parameters = loading.parameters(module, options)
    beforehand.check(options.command, options.output, bool(options.rotate))
    beforehand.check_namespaces(inside.process_of(module.manifest(), options.namespaces))
    warning = beforehand.target_warning(options.target)
    if warning:
        messages.warning(warning)
    target = Target(options.command) if options.command else None
    try:
        with Turn():
            name, channel = loading.insert_and_open(module, parameters, messages, options.rename)
        detached = _converse(name, channel, options, messages, signals, target, module, armed)
        if not detached:
            messages.note(f"removed {name}")
    finally:
        if target:
            target.cancel()
    return _status(messages, target)


def _converse(
    name: str,
    channel: Channel,
    options: RunOptions,
    messages: Messages,
    signals: Signals,
    target: Optional[Target],
    fresh: Optional[ModuleFile],
    armed: Optional[Callable[[], None]] = None,
) -> bool:
    """The session with a module: ``fresh``, whose file this is and which is to be started,
    or None for one that is running.

    True when it was left running, else it is unloaded.
    """
    sinks: List[Sink] = []
    session: Optional[Session] = None
    try:
        size, keep = options.rotation()
        sinks = make_sinks(len(channel.outputs), options.output, size, keep)
        session = Session(channel, sinks, messages, options, signals)
        session.target = target
        session.armed = armed
        if fresh:
            manifest = fresh.manifest()
            spaces = inside.process_of(manifest, options.namespaces)
            programs.hand_over(channel, manifest, options.namespaces)
            session.supplier = _supply(channel, manifest, options, messages)
            session.start(target.pid if target else options.target, spaces)
        else:
            session.supplier = _make_supplier(channel, {"names": True}, messages)
        session.loop()
    finally:
        if session and session.supplier:
            session.supplier.end()
        with Turn():
            if not session or not session.detached:
                channel.dismiss()
            channel.close()
            if not session or not session.detached:
                kernel.remove(name)
        for sink in sinks:
            sink.close()
    session.wait_for_system()
    if session.detached:
        messages.log(
            f'\nDisconnecting from systemtap module.\nTo reconnect, type "stapy-run -A {name}"'
        )
    return session.detached


def _supply(
    channel: Channel, manifest: Dict[str, Any], options: RunOptions, messages: Messages
) -> Optional[Supplier]:
    """Begin with the tables that user stacks of the first hits need; None for scripts without."""
    wanted = manifest.get("objects")
    if not wanted:
        return None
    supplier = _make_supplier(channel, wanted, messages)
    files = manifest.get("files") or {}
    places = [inside.place(path, manifest, options.namespaces) for path in sorted(files)]
    supplier.begin(places, options.command or "", options.target)
    return supplier


def _make_supplier(channel: Channel, wanted: Dict[str, Any], messages: Messages) -> Supplier:
    """Who makes tables; few sessions need one, and what it imports is a tenth of their start."""
    from .supply import Supplier

    return Supplier(channel, wanted, messages.warning)


def _status(messages: Messages, target: Optional[Target]) -> int:
    complaint = target.complaint() if target else ""
    if complaint:
        messages.warning(complaint)
    return 1 if messages.errors or complaint else 0


def _attach(name: str, options: RunOptions, messages: Messages, signals: Signals) -> int:
    name = loading.ours(loading.bare_name(name))
    channel = Channel.open(folder_of(name))
    _converse(name, channel, options, messages, signals, None, None)
    return _status(messages, None)

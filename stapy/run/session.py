"""The loop between a started module and its user: messages, signals, what each has to say.

It knows nothing about how a module gets into the kernel, which `consumer` does, nor what becomes
of its output, which `carrier` does.
"""

from __future__ import annotations

import _thread
import os
import select
import time

from . import refusals
from .accounts import Accounts, memory_line
from .carrier import OutputCarrier
from .control import Channel
from .messages import MessagePrinter
from .options import RunOptions
from .output import shown_in_line
from .signals import Signals, signal
from .target import TargetProcess, run_detached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

    from .input import Input
    from .output import Sink
    from .replaced import Replacements
    from .supply import Supplier

LONGEST_WAIT = (1 << 31) - 1  # milliseconds that one poll can wait, 24.8 days
_SPEAKING = frozenset(("warning", "error", "log", "system", "accounts", "account"))
SYSTEM_GRACE = 0.5  # seconds that commands of system() get to end after the session


class ModuleSession:
    """The loop between a started module and its user."""

    def __init__(
        self,
        channel: Channel,
        sinks: List[Sink],
        messages: MessagePrinter,
        options: RunOptions,
        signals: Signals,
    ) -> None:
        self.channel = channel
        self.messages = messages
        self.options = options
        self.signals = signals
        self.target: Optional[TargetProcess] = None
        self.detached = False
        self.failed = False
        self.armed: Optional[Callable[[], None]] = None  # called when the probes are armed
        self.supplier: Optional[Supplier] = None  # of tables for user stacks
        self.input: Optional[Input] = None  # for probes of standard input
        self.files: Optional[Replacements] = None  # that places are in
        self.output = OutputCarrier(channel.outputs, sinks, messages, self._lose_reader)
        messages.in_line = shown_in_line(sinks)
        self._stopping = False
        self._is_out_of_time = False
        self._stopped = False
        self._started = False
        self._leaving = False  # the session is to be left in the kernel
        self.accounts = Accounts()
        self._abandoned = False
        self._cancelled = False  # by the user, before the probes were armed
        self._deadline = self._after(options.timeout)
        self._timed_out = False
        self._is_silent = True  # no message has come, beside those that each session has
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
            if self.input:
                self.input.end()

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
        while not self._is_over():
            if self._commands and not self._awaits_tables():
                command = self._commands.pop(0)
                if not self._stopping:
                    self._deadline = self._after(self.options.timeout)
                self._tell(command)
            else:
                self._step()
        if self.files and self._started:
            self.files.hurry_by(self.signals.wake, self.signals.asks_to_end)
            self.files.look()
        self._tell_of_silence()

    def _tell_of_silence(self) -> None:
        """Say that nothing came, unless the script has other ways to tell: in all the time of -T.

        Or, however the session ended, when its programs are run from other files.
        """
        shows = self.options.monitor or self.options.metrics
        has_run = self._started and not self.failed
        if not has_run or not self._is_silent or self.output.has_come or shows:
            return
        if not self.messages.has_reader:  # to look at all processes takes a while
            return
        if self._timed_out:
            self.messages.hint(
                "the time is over and nothing was printed: perhaps no probe was hit;"
                " -t tells how often each was"
            )
        for text in self.files.elsewhere() if self.files and not self.target else ():
            self.messages.hint(text)

    def _awaits_tables(self) -> bool:
        """Tell whether the first hits would lack tables.

        Who wants to stop does not wait for them. The time of -T is that of the session, which has
        not begun then.
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
        """Run the loop in its thread, until the main thread has sent its command."""
        try:
            while self._telling and not self.detached:
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
        self.output.register(poll)
        for fd in self.supplier.fds if self.supplier else ():
            poll.register(fd, select.POLLIN)
        if self.files and self.files.fd >= 0:
            poll.register(self.files.fd, select.POLLIN)
        keys = self.input.fd(self.output.is_busy) if self.input else -1
        if keys >= 0:
            poll.register(keys, select.POLLIN)
        for fd, event in poll.poll(self._patience()):
            if fd == self.signals.wake:
                self.signals.drain()
            elif fd == self.channel.control and not self._stopped:
                self._obey_module()
            elif fd == keys and self.input:
                self.input.take()
            else:
                self.output.serve(fd, event)
        for text in self._refused:
            self.messages.error(text)
            self._stopped = True
            self.output.reading.clear()
        self._refused.clear()
        if self.supplier:
            self.supplier.serve()
        if self.input:
            self.input.serve()
        if self.files:
            self.files.serve()
        self._obey_user()
        self._reap()
        self.output.pass_on()
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self.messages.note("time is up")
            self._timed_out = self._started
            self.give_up()

    def _is_over(self) -> bool:
        if self.detached or self._abandoned:
            return True
        if not self._stopped or self.output.reading or self._commands or self._refused:
            return False
        self.output.pass_on(at_end=True)
        return not self.output.is_busy

    def _patience(self) -> Optional[int]:
        """Count the milliseconds until somebody wants to look again, or None."""
        looks = [one.patience for one in (self.supplier, self.input, self.files) if one]
        if self._deadline is not None:
            left = max(0.0, (self._deadline - time.monotonic()) * 1000)
            looks.append(int(min(left, LONGEST_WAIT - 1)) + 1)
        return min((look for look in looks if look is not None), default=None)

    def _lose_reader(self) -> None:
        """End the session without a fuss.

        One that is to be left in the kernel goes on: who attaches to it takes the rest.
        """
        if self.options.detach and not self._stopping:
            self.output.reading.clear()
        else:
            self.stop()

    def write_out(self) -> None:
        """Write what waits for its reader, after the module was left; a signal ends that."""
        self.output.write_out(self.signals)
        self.tell_untaken()

    def tell_untaken(self) -> None:
        """Say how much of the output is lost because its reader did not take it."""
        self.output.tell_untaken(self.detached)

    def _obey_module(self) -> None:
        rows, more = self.channel.messages()
        for kind, text in rows:
            self._obey(kind, text)
        # Not before the last row: the script may have asked for the end as it began.
        if self._leaving and self._started:
            self._detach()
        if not more:
            self._stopped = True

    def _obey(self, kind: str, text: str) -> None:
        self._is_silent &= kind not in _SPEAKING
        if kind == "warning":
            self.messages.warning(text)
        elif kind == "error":
            self.messages.error(text)
        elif kind == "log":
            self.messages.log(text)
        elif kind == "system":
            self._system.append(run_detached(text))
        elif kind == "switch_file":
            self.output.rotate()
        elif kind == "object":
            if self.supplier:
                self.supplier.answer(text)
        elif kind == "exit":
            self.stop()
        elif kind == "started":
            self._begin(int(text.split()[0]) if text.split() else 0)
        elif kind in ("accounts", "account"):
            self.accounts.take(kind, text)
        elif kind == "memory":
            line = memory_line(text)
            if line:
                self.messages.note(line)
        elif kind == "stopped":
            self._stopped = True
            for line in self.accounts.lines():
                self.messages.log(line)
            # More than came: there was no room for the texts of some.
            self.messages.errors = max(self.messages.errors, int(text or 0))

    def _begin(self, status: int) -> None:
        """Go on when the module says how arming the probes went: 0 or an errno."""
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
        if self.messages.verbose:
            self.channel.ask("memory")
        self.go_on()
        if self.armed:
            self.armed()
        if self.target and not self._cancelled:
            self.target.release()
        self._leaving |= self.options.detach

    def go_on(self) -> None:
        """Take the probes for armed: hand standard input on, when the script wants it."""
        self._started = True
        why = self.input.begin() if self.input and not self._stopping else ""
        if why:
            self.messages.warning(f"the script gets no standard input: {why}")

    def _detach(self) -> None:
        """Leave the session in the kernel, but never one that is ending: it would stay for ever."""
        if self._stopping or self.detached:
            return
        try:
            self.channel.send("detach")
        except OSError as error:
            self.messages.error(f"Couldn't detach from the module: {error.strerror}")
            self._leaving = False
            return
        self.detached = True

    def _obey_user(self) -> None:
        for number in self.signals.take():
            if number == signal.SIGUSR2:
                self.output.rotate()
            elif number == signal.SIGQUIT and not self._stopping:
                # What has not begun yet may still fail, or end as it begins.
                self._leaving = True
                if self._started:
                    self._detach()
            elif number == signal.SIGXCPU:
                self._end_out_of_time()
            elif self._stopping:
                # Asked twice: what nobody takes from us is lost, the module is not.
                if self.output.is_busy or self.signals.insisted:
                    self._abandoned = True
                self.signals.insisted = True
            else:
                self._cancelled = not self._started
                self.give_up()

    def _end_out_of_time(self) -> None:
        """Stop for want of processor time; the kernel repeats the signal, which is no insisting."""
        if self._is_out_of_time:
            return
        self._is_out_of_time = True
        self.messages.error("the limit of processor time is reached (--rlimit-cpu, ulimit -t)")
        if not self._stopping:
            self._cancelled = not self._started
            self.give_up()

    def _reap(self) -> None:
        if self.target and self.target.status is None and self.target.has_ended():
            self.messages.note("the command of -c has ended")
            self.target.outlived = self._stopping or self.target.is_cut_off()
            self.stop()
        self._reap_system()

    def _reap_system(self) -> None:
        for pid in list(self._system):
            if _is_gone(pid):
                self._system.remove(pid)

    def wait_for_system(self) -> None:
        """Give the last commands of ``system()`` a moment to print what they have."""
        end = time.monotonic() + SYSTEM_GRACE
        while self._system and time.monotonic() < end:
            time.sleep(0.01)
            self._reap_system()


def _is_gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True

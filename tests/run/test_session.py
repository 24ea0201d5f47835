"""The loop of a session against a module that is played by the test."""

import contextlib
import os
import signal
import socket
import threading
import time

import pytest

from stapy.run.carrier import OutputCarrier
from stapy.run.control import Channel
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions
from stapy.run.output import File, Sink
from stapy.run.session import ModuleSession
from stapy.run.signals import Signals
from stapy.run.target import TargetProcess


class FakeModule(threading.Thread):
    """Speaks the protocol of docs/runtime.md over a socket pair and a pipe.

    ``script`` is what it does after ``start``: ("output", bytes), ("say", line),
    ("sleep", seconds).  It obeys ``stop`` with ``at_stop`` and the end of its output.
    """

    def __init__(self, script, at_stop=()):
        super().__init__(daemon=True)
        self.ours, theirs = socket.socketpair()
        output, self.output = os.pipe()
        os.set_blocking(output, False)
        theirs.setblocking(False)
        self.channel = Channel(theirs.detach(), [output])
        self.script, self.at_stop = script, at_stop
        self.heard = []

    def run(self):
        commands = self.ours.makefile("r")
        for command in commands:
            self.heard.append(command.strip())
            if command.startswith("start"):
                self.play(self.script)
            elif command == "stop\n":
                self.play(self.at_stop)
                self.play([("say", "stopped")])
                os.close(self.output)
                return

    def play(self, steps):
        for kind, value in steps:
            if kind == "output":
                try:
                    while value:
                        value = value[os.write(self.output, value) :]
                except BrokenPipeError:
                    return  # the consumer gave up
            elif kind == "say":
                with contextlib.suppress(BrokenPipeError):  # the consumer gave up
                    self.ours.sendall(value.encode() + b"\n")
            elif kind == "sleep":
                time.sleep(value)
            else:
                value()


ARMED = ("say", "started 0")
IGNORED_BEHIND = (signal.SIGINT, signal.SIGQUIT)  # POSIX, "Asynchronous AND-OR Lists"
EXIT = ("say", "exit")


@pytest.fixture
def play(tmp_path, capfd):
    """Run a session against a script; gives (output, stderr, what the module heard, session)."""

    def run(script, at_stop=(), command=None, sink=None, target=0, **options):
        # First, as in a real run: it must not inherit the module's files.
        waiting = TargetProcess(command) if isinstance(command, str) else command
        module = FakeModule(script, at_stop)
        module.start()
        path = tmp_path / "output"
        chosen = RunOptions(module="m.ko", **options)
        messages = MessagePrinter("never", chosen.warnings)
        sinks = [sink or File(str(path))]
        with Signals() as signals:
            session = ModuleSession(module.channel, sinks, messages, chosen, signals)
            session.target = waiting
            session.start(target)
            session.loop()
            session.wait_for_system()
            if not session.detached:
                session.tell_untaken()
        module.channel.close()
        module.join(5)
        assert not module.is_alive()
        session.errors = messages.errors
        captured = capfd.readouterr()
        session.printed = captured.out
        return path.read_bytes() if not sink else b"", captured.err, module.heard, session

    return run


def test_output_before_and_after_stop_arrives(play):
    output, errors, heard, _ = play(
        [ARMED, ("output", b"one\n"), EXIT], at_stop=[("output", b"two\n")], target=42
    )
    assert output == b"one\ntwo\n"
    assert errors == ""
    assert heard == ["start 42", "stop"]


SILENCE = (
    "hint: the time is over and nothing was printed: perhaps no probe was hit;"
    " -t tells how often each was\n"
)


@pytest.mark.parametrize(
    ("script", "at_stop", "options", "told"),
    [
        ([], [], {}, SILENCE),
        ([("output", b"one\n")], [], {}, ""),
        ([], [("output", b"two\n")], {}, ""),
        ([("say", "warning careful")], [], {}, "WARNING: careful\n"),
        ([], [], {"metrics": "127.0.0.1:9123"}, ""),
        ([EXIT], [], {"timeout": 600}, ""),
    ],
)
def test_a_time_in_which_nothing_came(play, monkeypatch, script, at_stop, options, told):
    """A user at a terminal is told; a program that reads standard error is not."""
    monkeypatch.setenv("TERM", "xterm")
    limits = {"timeout": 0.2, **options}
    for is_terminal in (True, False):
        monkeypatch.setattr(os, "isatty", lambda fd, answer=is_terminal: answer)
        _, errors, *_ = play([ARMED, *script], at_stop, **limits)
        assert errors == (told if is_terminal or told != SILENCE else "")


def test_who_wants_no_colors_is_told_as_much(play, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    _, errors, *_ = play([ARMED], timeout=0.2)
    assert errors == SILENCE


def test_a_session_whose_programs_are_run_from_elsewhere(play, monkeypatch):
    """Told in silence only, at a terminal; what was replaced is told in any case."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    said = []

    class Files:
        patience = None
        fd = -1

        def serve(self):
            said.append("served")

        def hurry_by(self, wake: int, is_hurried: object) -> None:
            pass

        def look(self):
            said.append("looked")

        def elsewhere(self):
            said.append("asked")
            return ["nobody runs it"]

    made = ModuleSession.__init__

    def with_files(session, *words):
        made(session, *words)
        session.files = Files()

    monkeypatch.setattr(ModuleSession, "__init__", with_files)
    _, errors, *_ = play([ARMED, EXIT])
    assert errors == "hint: nobody runs it\n"
    assert said[0] == "served"
    assert said[-2:] == ["looked", "asked"]
    _, errors, *_ = play([ARMED, ("output", b"one\n"), EXIT])
    assert errors == ""
    _, errors, *_ = play([("say", "started -12"), EXIT])
    assert "nobody runs it" not in errors
    monkeypatch.setattr(os, "isatty", lambda fd: False)
    said.clear()
    _, errors, *_ = play([ARMED, EXIT])
    assert errors == ""
    assert "asked" not in said


def test_more_than_any_buffer(play):
    data = bytes(range(256)) * 4096
    output, *_ = play([ARMED, ("output", data), EXIT], at_stop=[("output", data)])
    assert output == data * 2


def test_commands_come_from_the_main_thread_while_output_is_moved(play, monkeypatch):
    """Send as to the kernel, whose write returns when the begin or end probes have run."""
    done, senders, send = threading.Semaphore(0), [], Channel.send
    cancelled = threading.Event()

    def send_and_wait(channel, text):
        in_main = threading.current_thread() is threading.main_thread()
        # The kernel would keep a signal for the thread that is in it.
        deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        senders.append((text, in_main and deaf))
        send(channel, text)
        # That one is for a module that is busy with another one.
        if text == "exit":
            cancelled.set()
        else:
            assert done.acquire(timeout=60)

    monkeypatch.setattr(Channel, "send", send_and_wait)
    data, released = b"x" * 300_000, ("call", done.release)
    interrupt = ("call", lambda: os.kill(os.getpid(), signal.SIGINT))
    # Once the probes are armed it would be too late for it.
    heard = ("call", lambda: cancelled.wait(60))
    output, *_ = play(
        [("output", data), interrupt, heard, ("output", data), ARMED, released],
        at_stop=[("output", data), released],
    )
    assert output == 3 * data
    assert senders == [("start 0", True), ("exit", False), ("stop", True)]


def test_an_error_of_the_loop_is_not_lost_while_a_command_is_sent(play, monkeypatch):
    def fail(session, fd):
        raise ZeroDivisionError

    monkeypatch.setattr(OutputCarrier, "_move", fail)
    sent, send = threading.Semaphore(0), Channel.send
    monkeypatch.setattr(Channel, "send", lambda *words: (send(*words), sent.acquire(timeout=60)))
    with pytest.raises(ZeroDivisionError):
        play([("output", b"x"), ("sleep", 0.2), ("call", sent.release)])


@pytest.mark.parametrize(
    ("line", "text", "errors"),
    [
        ("warning careful", "WARNING: careful\n", 0),
        (r"warning two\nlines \\n", "WARNING: two\nlines \\n\n", 0),
        ("error it broke", "ERROR: it broke\n", 1),
        ("log as it is", "as it is\n", 0),
        ("unheard-of message", "", 0),
    ],
)
def test_messages(play, line, text, errors):
    _, printed, _, session = play([ARMED, ("say", line), EXIT])
    assert printed == text
    assert session.errors == errors


def test_no_warnings_with_w(play):
    _, printed, *_ = play([("say", "warning x"), ARMED, EXIT], warnings=False)
    assert printed == ""


@pytest.mark.parametrize("status", [-22, 22])
def test_failed_start_ends_the_session(play, status):
    _, printed, heard, session = play([("say", f"started {status}")])
    assert printed == "ERROR: Couldn't start the probes: Invalid argument\n"
    assert heard[-1] == "stop"
    assert session.failed


def test_failed_start_with_its_own_error_says_no_more(play):
    _, printed, *_ = play([("say", "error probe x registration error"), ("say", "started -2")])
    assert printed == "ERROR: probe x registration error\n"


def test_command_begins_after_the_probes_and_ends_the_session(play, tmp_path):
    begun = tmp_path / "begun"
    early = []
    script = [
        ("sleep", 0.2),
        ("call", lambda: early.append(begun.exists())),
        ARMED,
    ]
    _, _, heard, session = play(script, command=f"touch {begun}")
    assert early == [False]
    assert begun.exists()
    assert heard[-1] == "stop"
    assert session.target.complaint() == ""


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("false", "Child process exited with status 1"),
        ("exit 7;", "Child process exited with status 7"),
        ("kill -TERM $$;", "Child process exited with signal 15 (Terminated)"),
        ("no-such-command-anywhere", "Child process exited with status 1"),
        ("true", ""),
    ],
)
def test_end_of_the_command(play, command, text):
    *_, session = play([ARMED], command=command)
    assert session.target.complaint() == text


def test_command_never_begins_when_the_start_fails(play, tmp_path):
    begun = tmp_path / "begun"
    *_, session = play([("say", "started -1")], command=f"touch {begun}")
    session.target.cancel()
    assert not begun.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_cleanly(play, number):
    script = [ARMED, ("call", lambda: os.kill(os.getpid(), number))]
    output, _, heard, _ = play(script, at_stop=[("output", b"the end\n")])
    assert output == b"the end\n"
    # "exit" is for a module that has not done with "start" yet.
    assert [word for word in heard if word != "exit"] == ["start 0", "stop"]


def test_the_end_of_processor_time_is_named_and_insists_on_nothing(play):
    """The kernel sends the signal anew with each second: what is left to be written is written."""

    def send():
        os.kill(os.getpid(), signal.SIGXCPU)

    again = [("call", send), ("sleep", 0.1)] * 3
    output, errors, heard, _ = play(
        [ARMED, ("call", send)], at_stop=[*again, ("output", b"the end\n")]
    )
    assert output == b"the end\n"
    assert errors == "ERROR: the limit of processor time is reached (--rlimit-cpu, ulimit -t)\n"
    assert [word for word in heard if word != "exit"] == ["start 0", "stop"]


def interrupt_and_wait(target):
    """Send SIGINT and wait until the session has noticed."""
    os.kill(target.pid, signal.SIGINT)
    deadline = time.monotonic() + 60
    while target.status is None and time.monotonic() < deadline:
        time.sleep(0.01)


def test_interrupted_command_is_no_failure(play):
    interrupt = ("call", lambda: os.kill(os.getpid(), signal.SIGINT))
    *_, session = play(
        [ARMED, ("sleep", 0.1), interrupt],
        at_stop=[("call", lambda: interrupt_and_wait(waiting))],
        command=(waiting := TargetProcess("sleep 600")),
    )
    assert session.target.status is not None
    assert session.target.complaint() == ""


@pytest.mark.parametrize("seconds", [2_592_000, 1e308])
def test_a_timeout_may_be_longer_than_a_wait_can_be(play, seconds):
    _, errors, heard, _ = play([ARMED, ("sleep", 0.1), EXIT], timeout=seconds)
    assert (errors, heard) == ("", ["start 0", "stop"])


def test_timeout_ends_the_session(play):
    started = time.monotonic()
    _, _, heard, _ = play([ARMED], timeout=0.2)
    assert heard[-1] == "stop"
    assert 0.15 < time.monotonic() - started < 60


def test_quit_detaches_without_stop(play):
    script = [ARMED, ("call", lambda: os.kill(os.getpid(), signal.SIGQUIT))]
    module_heard = play(script)
    assert module_heard[2] == ["start 0", "detach"]
    assert module_heard[3].detached


def test_quit_detaches_what_a_shell_has_started_behind_it(play):
    """Whose script has no job control: it has SIGINT and SIGQUIT ignored."""
    ignored = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED_BEHIND}
    try:
        _, _, heard, session = play(
            [ARMED, ("call", lambda: os.kill(os.getpid(), signal.SIGQUIT))], timeout=60
        )
    finally:
        for number, handler in ignored.items():
            signal.signal(number, handler)
    assert heard == ["start 0", "detach"] and session.detached


def test_quit_detaches_from_a_session_that_was_attached_to():
    """Whose probes have been armed before: no module tells that again."""
    module = FakeModule([])
    module.start()
    with Signals() as signals:
        session = ModuleSession(
            module.channel, [Sink(1)], MessagePrinter("never"), RunOptions(), signals
        )
        session.go_on()
        os.kill(os.getpid(), signal.SIGQUIT)
        session.loop()
    module.channel.close()
    module.join(5)
    assert session.detached and module.heard == ["detach"]


def test_a_session_that_is_left_in_the_kernel_needs_no_reader(play):
    """stapy-run -L m.ko | head -n 1: the reader may leave while the probes are being armed."""
    read, write = os.pipe()
    leave = ("call", lambda: os.close(read))
    begin = [("output", b"begin\n"), ("sleep", 0.1), leave, ("output", b"more\n"), ("sleep", 0.2)]
    _, printed, heard, session = play([*begin, ARMED], sink=Sink(write), detach=True)
    assert heard == ["start 0", "detach"]
    assert session.detached and printed == ""


@pytest.mark.parametrize(
    "how",
    [
        [EXIT, ARMED],
        [("say", "started 0\nexit")],
        [("call", lambda: os.kill(os.getpid(), signal.SIGINT)), ("sleep", 0.1), ARMED],
    ],
    ids=["exit(), armed", "armed, exit()", "interrupt"],
)
def test_what_ends_is_not_left_in_the_kernel(play, how):
    """Neither by -L nor by SIGQUIT: nobody would ever remove it."""
    quit = ("call", lambda: os.kill(os.getpid(), signal.SIGQUIT))
    script = [*how, ("sleep", 0.1), quit]
    _, _, heard, session = play(script, detach=True)
    assert "detach" not in heard and heard[-1] == "stop"
    assert not session.detached


def test_system_runs_a_shell_and_its_output_is_seen(play):
    *_, session = play([ARMED, ("say", "system echo from $((1+1)) >&1"), EXIT])
    assert session.printed == "from 2\n"


def test_closed_reader_ends_the_session(play):
    read, write = os.pipe()
    os.close(read)
    script = [ARMED, ("output", b"x" * 10)]
    _, printed, heard, _ = play(script, at_stop=[("output", b"y" * 100000)], sink=Sink(write))
    assert heard[-1] == "stop"
    assert printed == ""


def test_reader_that_leaves_in_silence_is_noticed(play):
    read, write = os.pipe()
    script = [ARMED, ("sleep", 0.1), ("call", lambda: os.close(read))]
    _, _, heard, _ = play(script, sink=Sink(write))
    assert heard[-1] == "stop"


def test_second_interrupt_gives_up_a_stuck_reader_but_not_the_module(play):
    read, write = os.pipe()

    def interrupt_twice():
        time.sleep(0.2)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    script = [ARMED, *[("output", b"z" * 30000)] * 3, ("call", interrupt_twice)]
    _, printed, heard, session = play(script, sink=Sink(write))
    assert heard[-1] == "stop"
    assert session._abandoned
    untaken = 90000 - len(os.read(read, 1 << 20))
    assert printed.startswith(f"WARNING: {untaken} bytes of output, and what the module still had")
    os.close(read)


class Left:
    """A session that has left its module while a block of its output waits in front of a pipe."""

    def __init__(self, signals, messages, size):
        self.read, self.write = os.pipe()
        sink = Sink(self.write)
        module = FakeModule([])
        self.session = ModuleSession(module.channel, [sink], messages, RunOptions(), signals)
        self.session.detached = True
        sink.write(memoryview(bytes(size)))
        assert sink.is_busy


def test_what_was_read_is_written_after_the_module_was_left():
    size, got = 200_000, 0
    with Signals() as signals:
        left = Left(signals, MessagePrinter("never"), size)
        writer = threading.Thread(target=lambda: (left.session.write_out(), os.close(left.write)))
        writer.start()
        while data := os.read(left.read, 1 << 16):
            got += len(data)
        writer.join()
    assert got == size


def test_a_signal_gives_up_what_nobody_takes_after_the_module_was_left(capfd):
    size = 200_000
    with Signals() as signals:
        left = Left(signals, MessagePrinter("never"), size)
        os.kill(os.getpid(), signal.SIGINT)
        left.session.write_out()
        untaken = size - len(os.read(left.read, 1 << 20))
    told = f"WARNING: {untaken} bytes of output were not taken by their reader: they are lost\n"
    assert capfd.readouterr().err == told


def test_refused_command_is_an_error(play, capfd):
    module = FakeModule([])
    module.ours.close()
    os.close(module.output)
    messages = MessagePrinter("never")
    with Signals() as signals:
        session = ModuleSession(module.channel, [Sink(1)], messages, RunOptions(), signals)
        session.start(0)
        session.loop()
    assert "Couldn't start the module" in capfd.readouterr().err


class Preparing:
    """A supplier whose tables are not there yet; what happens meanwhile."""

    fds: list[int] = []
    patience = 10

    def __init__(self, rounds, meanwhile):
        self.rounds, self.meanwhile = rounds, meanwhile

    @property
    def preparing(self):
        return self.rounds > 0

    def serve(self):
        self.rounds -= 1
        self.meanwhile()


def test_who_stops_before_the_beginning_begins_nothing(play, monkeypatch):
    """While tables are made: no begin probe runs, no command starts."""
    interrupt = Preparing(1 << 30, lambda: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr(ModuleSession, "start", begun_with(interrupt))
    _, errors, heard, _ = play([ARMED])
    assert heard == ["stop"] and not errors


def test_the_time_of_a_session_is_that_from_its_beginning(play, monkeypatch):
    preparing = Preparing(20, lambda: time.sleep(0.1))
    monkeypatch.setattr(ModuleSession, "start", begun_with(preparing))
    now = ("call", lambda: times.append(time.monotonic()))
    times: list[float] = []
    _, errors, heard, _ = play([now, ARMED], at_stop=[now], timeout=1)
    assert heard == ["start 0", "stop"] and not errors
    assert times[1] - times[0] > 0.9


def begun_with(supplier):
    start = ModuleSession.start

    def begun(session, target):
        session.supplier = supplier
        start(session, target)

    return begun

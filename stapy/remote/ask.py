"""What hosts are: asked all at once, and once more by themselves those that want a password."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stapy.record import Record, new
from stapy.remote.ssh import Connection, last_line

AT_ONCE = 8  # servers, and hosts that are jumped through, take so many beginnings at a time
_BEGIN = "stapy-remote"
_FILE = "stapy-file "
_LEAST = (3, 9)
_QUESTION = f"""\
echo {_BEGIN}
uname -r
uname -m
if [ "$(id -u)" = 0 ]; then echo root; elif sudo -n true 2>/dev/null; then echo sudo
else echo none; fi
command -v python3 || echo none
python3 -IS -c "import sys; print(*sys.version_info[:2])" || echo 0 0
for name in NAMES; do
text=$(cat "/$name" 2>/dev/null) && echo "{_FILE}$name" && echo "$text"
done
"""
_DENIED = re.compile(r"Permission denied", re.I)
_UNKNOWN = re.compile(r"Host key verification failed", re.I)


class HostFacts(Record):
    """What a host answered."""

    release: str
    machine: str
    python: str  # its path
    becomes_root: str  # what stands before a command for root, "" for root
    files: dict[str, str] = new(dict)  # what those hold that were asked for and are there


class Answers(Record):
    """The hosts that answered, and why the others did not, by number."""

    facts: dict[int, HostFacts] = new(dict)
    failures: dict[int, str] = new(dict)


def ask(
    connections: list[Connection],
    folder: Path,
    *,
    files: Sequence[str] = (),
    may_ask: bool,
    tell: Callable[[str], None],
) -> Answers:
    """Ask all hosts; ``may_ask`` says that there is a user who can be asked for a password.

    ``files`` are names below / of files whose text is asked for.
    """
    answers = Answers()
    question = _QUESTION.replace("NAMES", " ".join(map(shlex.quote, files)))
    for at in range(0, len(connections), AT_ONCE):
        group = connections[at : at + AT_ONCE]
        names = ", ".join(one.host.uri for one in group)
        tell(f"asking {names}")
        with _running(group, folder, question) as processes:
            for connection, process in zip(group, processes, strict=True):
                process.wait()
                _judge(answers, connection, process.returncode, folder)
    if may_ask:
        for connection in connections:
            number = connection.host.number
            if _wants_user(answers.failures.get(number, "")):
                del answers.failures[number]
                status = _ask_with_user(connection, folder, question)
                _judge(answers, connection, status, folder)
    return answers


@contextmanager
def _running(
    group: list[Connection], folder: Path, question: str
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have the question asked of some hosts; no process stays behind."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for connection in group:
            processes.append(_start(connection.command(question), connection, folder))
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait()


def _start(words: list[str], connection: Connection, folder: Path) -> subprocess.Popen[bytes]:
    # The shared connection stays and may keep a pipe open: files have an end.
    with (
        (folder / f"{connection.host.number}.out").open("wb") as out,
        (folder / f"{connection.host.number}.err").open("wb") as err,
    ):
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )


def _ask_with_user(connection: Connection, folder: Path, question: str) -> int:
    """Ask one host, with the terminal for ssh, and return the exit status."""
    (folder / f"{connection.host.number}.err").write_bytes(b"")
    with (folder / f"{connection.host.number}.out").open("wb") as out:
        words = connection.command(question, may_ask=True)
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, check=False).returncode


def _judge(answers: Answers, connection: Connection, status: int, folder: Path) -> None:
    """Take one host's answer, or the reason why it has none."""
    number = connection.host.number
    said = (folder / f"{number}.out").read_text("utf-8", "replace")
    # What the login scripts of a user print stands before it.
    lines = said.partition(f"{_BEGIN}\n")[2].splitlines()
    if len(lines) < 5:
        errors = (folder / f"{number}.err").read_text("utf-8", "replace")
        # Some shells, such as nologin, say on standard output why they run nothing.
        told = last_line(errors) or last_line(said)
        if connection.host.is_direct or status != 255:
            why = f"it did not say what it is (status {status})"
            answers.failures[number] = f"{why}: {told}" if told else why
        else:
            answers.failures[number] = told or "it cannot be reached"
        return
    release, machine, rights, python, version = lines[:5]
    why = _unfit(rights, python, version)
    if why:
        answers.failures[number] = why
        return
    answers.facts[number] = HostFacts(
        release, machine, python, "sudo -n " if rights == "sudo" else "", _files(lines[5:])
    )


def _files(lines: list[str]) -> dict[str, str]:
    """Tell the files of an answer from each other."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith(_FILE):
            name = line.removeprefix(_FILE)
            found[name] = ""
        elif name:
            found[name] += f"{line}\n"
    return found


def _wants_user(why: str) -> bool:
    return bool(_DENIED.search(why) or _UNKNOWN.search(why))


def way_in(connection: Connection, why: str, *, may_ask: bool) -> str:
    """Say what to do about a host that did not let us in, "" where ``why`` is something else."""
    by_hand = f"'{' '.join(connection.by_hand())}'"
    if _UNKNOWN.search(why):
        return f"{by_hand} shows the host's key and asks whether it is the right one" + (
            "" if may_ask else "; so does stapy in a terminal"
        )
    if not _DENIED.search(why):
        return ""
    if may_ask:
        return f"{by_hand} has to get in as well"
    return f"a password is asked for in a terminal only; else {by_hand} has to get in by a key"


def _unfit(rights: str, python: str, version: str) -> str:
    """Say why stapy-run cannot do its work there, "" when it can."""
    if not python.startswith("/"):
        return "it has no python3, which stapy-run needs (apt-get install python3-minimal)"
    found = tuple(int(word) for word in version.split() if word.isdigit())
    if found < _LEAST:
        return f"its python3 is {'.'.join(map(str, found))}; stapy-run needs 3.9 or newer"
    if rights == "none":
        return "loading modules needs root there: log in as root, or let the user sudo -n"
    return ""

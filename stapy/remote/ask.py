"""What hosts are: asked all at once, and once more by themselves those that want a password."""

from __future__ import annotations

import os
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
_LEAST = (3, 9)
# What we look for has a random word, which no login script prints, but which others there can see.
# Lines of files begin with _TEXT: whoever may write into one (keys have names) cannot speak for us.
_TEXT = "|"
_ROOTS = "proc/keys"  # others see fewer
_QUESTION = f"""\
mark=MARK by=
echo "$mark begins"
uname -r
uname -m
if [ "$(id -u)" = 0 ]; then echo root
elif sudo -n true 2>/dev/null; then echo sudo; by="sudo -n"
else echo none; fi
command -v python3 || echo none
python3 -IS -c "import sys; print(*sys.version_info[:2])" || echo 0 0
for name in NAMES; do
text=
case $name in {_ROOTS}) [ -z "$by" ] || text=$($by cat "/$name" 2>/dev/null) ;; esac
[ -n "$text" ] || text=$(cat "/$name" 2>/dev/null) || continue
printf '%s file %s\\n' "$mark" "$name"
printf '%s\\n' "$text" | while IFS= read -r line; do printf '{_TEXT}%s\\n' "$line"; done
done
echo "$mark ends"
"""
_SILENT = "it did not say what it is"
_CUT_OFF = "its answer was cut off"
_SHUT_OUT = "ssh could not get in: see what it said above"
_NAME = re.compile(r"(?!.*\.\.)\w[\w.+~-]*", re.A)
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
    mark = _new_mark()
    question = _QUESTION.replace("MARK", mark).replace("NAMES", " ".join(map(shlex.quote, files)))

    def judge(connection: Connection, status: int, *, was_asked: bool) -> None:
        heard = _hear(connection, folder, mark)
        found = _judge(connection, status, heard, files, was_asked=was_asked)
        if isinstance(found, str):
            answers.failures[connection.host.number] = found
        else:
            answers.facts[connection.host.number] = found

    for at in range(0, len(connections), AT_ONCE):
        group = connections[at : at + AT_ONCE]
        names = ", ".join(one.host.uri for one in group)
        tell(f"asking {names}")
        with _running(group, folder, question) as processes:
            for connection, process in zip(group, processes, strict=True):
                process.wait()
                judge(connection, process.returncode, was_asked=False)
    if may_ask:
        for connection in connections:
            number = connection.host.number
            if _wants_user(answers.failures.get(number, "")):
                del answers.failures[number]
                judge(connection, _ask_with_user(connection, folder, question), was_asked=True)
    return answers


def _new_mark() -> str:
    """Choose the word that tells our lines from others."""
    return f"stapy-remote-{os.urandom(12).hex()}"


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


class _Heard(Record):
    """What came back from a host."""

    before: str  # what the login scripts of a user print stands before the answer
    lines: list[str]  # of the answer, none when it has not begun
    mark: str
    errors: str

    def is_whole(self) -> bool:
        """Tell whether all was said that was asked for."""
        return f"{self.mark} ends" in self.lines[5:]


def _hear(connection: Connection, folder: Path, mark: str) -> _Heard:
    number = connection.host.number
    said = (folder / f"{number}.out").read_bytes().decode("utf-8", "replace")
    before, begun, answer = said.partition(f"{mark} begins\n")
    errors = (folder / f"{number}.err").read_text("utf-8", "replace")
    # Nothing else ends a line: a file may hold what other systems end theirs with.
    return _Heard(before, answer.split("\n") if begun else [], mark, errors)


def _judge(
    connection: Connection, status: int, heard: _Heard, files: Sequence[str], *, was_asked: bool
) -> HostFacts | str:
    """Take one host's answer, or the reason why it has none.

    ``was_asked``: ssh had the terminal, and said there what it had to say.
    """
    if not heard.is_whole():
        return _why_silent(connection, status, heard, was_asked=was_asked)
    release, machine, rights, python, version = heard.lines[:5]
    why = _unfit(rights, python, version) or _nameless(release, machine)
    if why:
        return why
    by = "sudo -n " if rights == "sudo" else ""
    return HostFacts(release, machine, python, by, _files(heard, files))


def _why_silent(connection: Connection, status: int, heard: _Heard, *, was_asked: bool) -> str:
    """Say why there is no answer: ssh itself ends with status 255."""
    # Some shells, such as nologin, say on standard output why they run nothing.
    told = last_line(heard.errors) or last_line("" if heard.lines else heard.before)
    if connection.host.is_direct or status != 255:
        why = f"{_CUT_OFF if heard.lines else _SILENT} (status {status})"
        return f"{why}: {told}" if told else why
    if heard.lines:
        return f"{_CUT_OFF}: {told}" if told else _CUT_OFF
    return told or (_SHUT_OUT if was_asked else "it cannot be reached")


def _files(heard: _Heard, wanted: Sequence[str]) -> dict[str, str]:
    """Tell the files of an answer from each other; the first of a name is the one."""
    found: dict[str, list[str]] = {}
    into: list[str] = []
    for line in heard.lines[5:]:
        if line == f"{heard.mark} ends":
            break
        if line.startswith(_TEXT):
            into.append(line.removeprefix(_TEXT))
            continue
        into = []
        name = line.removeprefix(f"{heard.mark} file ")
        if name in wanted and name != line:
            found.setdefault(name, into)
    return {name: "".join(f"{line}\n" for line in lines) for name, lines in found.items()}


def _wants_user(why: str) -> bool:
    return bool(_DENIED.search(why) or _UNKNOWN.search(why)) and not _is_of_the_host(why)


def _is_of_the_host(why: str) -> bool:
    """Tell whether ssh was let in, so that what was denied is something else."""
    return why.startswith((_SILENT, _CUT_OFF))


def way_in(connection: Connection, why: str) -> str:
    """Say what to do about a host that did not let us in, "" where ``why`` is something else."""
    by_hand = f"'{' '.join(connection.by_hand())}'"
    if why == _SHUT_OUT:
        return f"{by_hand} has to get in as well"
    if not _wants_user(why):
        return ""
    if _UNKNOWN.search(why):
        return (
            f"{by_hand} shows the host's key and asks whether it is the right one; "
            "so does stapy in a terminal"
        )
    return f"a password is asked for in a terminal only; else {by_hand} has to get in by a key"


def _nameless(release: str, machine: str) -> str:
    """Refuse what is no name, "" when both are: files and folders are named after them."""
    if not _NAME.fullmatch(release):
        return f"'uname -r' says {release!r} there, which no kernel release is called"
    if not _NAME.fullmatch(machine):
        return f"'uname -m' says {machine!r} there, which no architecture is called"
    return ""


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

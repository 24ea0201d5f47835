"""How a member of the groups comes to run a module: through sudo, by a rule of the administrator's.

A script cannot be setuid. sudo is: by the rule it starts our own code as root with the words of
the user, without another process between, so that the number of the process stays.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys

from . import refusals
from .admission import FOLDER, why_open
from .command_line import wants_json
from .errors import RunError
from .groups import NAMES, PAGE, STAPDEV, look_up
from .lacks import program, run
from .member import GIVEN, LIFE
from .messages import MessagePrinter
from .signals import Signals, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator, List, Sequence, Set

AS_MEMBER = "--as-member"
LOOK = 0.2  # seconds between two looks whether sudo has become the user's own process
_HOW = f"stapy-run --sudoers prints the rule that root puts into /etc/sudoers.d/stapy ({PAGE})"
# A path in such a rule: everything else would have to be escaped, or is a pattern.
_PLAIN = frozenset("/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+")
_RULE = """\
# Members of the group stapusr run modules of stapy: docs/privileges.md tells which.
# The program looks at everything itself: who called it, his groups, the module.
Cmnd_Alias STAPY_RUN = {command} *
Defaults!STAPY_RUN closefrom_override, !requiretty, !use_pty, !log_input, !log_output
Defaults!STAPY_RUN !pam_session, !pam_setcred, env_reset, !setenv
%stapusr ALL = (root) NOPASSWD: STAPY_RUN
"""

# Where an interpreter looks for modules, and what it has mapped to run: its libraries.
_ASK = """\
import sys
print(*sys.path, sep="\\n")
with open("/proc/self/maps", errors="surrogateescape") as maps:
    rows = [row.rstrip("\\n").split(None, 5) for row in maps]
found = {row[5] for row in rows if len(row) == 6 and "x" in row[1]}
print(*sorted(name for name in found if name[0] == "/"), sep="\\n")
"""
_MODULES = (".py", ".pyc", ".so")
# Folders of other packages, which -S leaves out: in the library's they cannot be named.
_OTHERS = ("site-packages", "dist-packages")


def is_needed() -> bool:
    """Tell whether we may load nothing ourselves, but are a user's whom the groups allow it."""
    if os.geteuid() == 0 or refusals.may_load():
        return False
    member = look_up(os.getuid())
    return bool(member and member.level)


def command() -> List[str]:
    """List the words of the command that the rule allows, before those of the user."""
    python = os.path.realpath(sys.executable)
    if os.path.realpath("/usr/bin/python3") == python:
        python = "/usr/bin/python3"  # which stays when the version changes
    return [python, "-ISB", _place(__file__), AS_MEMBER]


def _place(file: str) -> str:
    """Return what Python is started with: our folder, or the archive that we are in."""
    place = os.path.dirname(os.path.realpath(file))
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return place


def become(words: List[str], life: int = -1) -> None:
    """Turn into the program that sudo starts; `RunError` when it would not.

    ``life`` is a pipe whose end is the end of the session.
    """
    found = program("sudo")
    if not found:
        raise RunError(f"members of the groups load modules through sudo, which is missing: {_HOW}")
    wanted = [*command(), *words]
    if run([*found, "-n", "-l", "--", *wanted])[0]:
        raise RunError(f"sudo lacks the rule by which members of stapusr run modules: {_HOW}")
    try:
        _leave_environment()
        _leave(life if life >= 0 else os.open("/dev/null", os.O_RDONLY), LIFE)
        os.execv(found[0], [found[0], "-n", "-C", str(LIFE + 1), "--", *wanted])
    except OSError as error:
        raise RunError(f"cannot run '{found[0]}': {error.strerror}") from None


def obstacle() -> str:
    """Say why this member cannot run what he has just made, "" when he can or is none."""
    member = look_up(os.getuid()) if is_needed() else None
    if not member or member.level >= STAPDEV:
        return ""
    folder = FOLDER.format(release=os.uname().release)
    return (
        f"members of the group {NAMES[member.level]} may only use modules that root has put into "
        f"{folder} ({PAGE})"
    )


def run_apart(words: List[str]) -> int:
    """Run stapy-run in another process as this user may; return its exit status.

    Signals are handed on, but for those of the terminal, which come to both.
    """
    heard = (*Signals.HANDLED, signal.SIGCHLD)
    life, held = os.pipe()
    old = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        pid = os.fork()
        if pid == 0:
            os.close(held)
            # Out of the way of the numbers that are left open.
            _be_apart(words, old, fcntl.fcntl(life, fcntl.F_DUPFD_CLOEXEC, LIFE + 1))
        return _wait(pid, heard)
    finally:
        os.close(life)
        os.close(held)
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _be_apart(words: List[str], mask: Iterable[int], life: int) -> None:
    try:
        signal.set_wakeup_fd(-1)
        for number in Signals.HANDLED:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        become(words, life)
    except RunError as error:
        MessagePrinter(as_json=wants_json(words)).error(str(error))
    finally:
        os._exit(1)


def _wait(pid: int, heard: Iterable[int]) -> int:
    """Wait for a process; return its status as a shell counts it."""
    waiting: List[int] = []
    while True:
        came = signal.sigtimedwait(heard, LOOK)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if came and came.si_signo != signal.SIGCHLD and came.si_code <= 0:
            waiting.append(came.si_signo)
        while waiting:
            try:
                os.kill(pid, waiting[0])
            except PermissionError:
                break  # it is sudo yet, and root's; it will be ours
            waiting.pop(0)


def _leave_environment() -> None:
    """Leave umask and environment where the user's own part of us takes them up again."""
    mask = os.umask(0)
    os.umask(mask)
    rows = [b"%o" % mask, *(name + b"=" + value for name, value in os.environb.items())]
    fd = os.memfd_create("environment")
    rest = memoryview(b"\0".join(rows))
    while rest:
        rest = rest[os.write(fd, rest) :]
    _leave(fd, GIVEN)


def _leave(fd: int, number: int) -> None:
    """Leave a file open under a number that sudo does not close."""
    if fd != number:
        os.dup2(fd, number)
    os.set_inheritable(number, True)


def rule() -> List[str]:
    """List the lines of the rule for sudo; `RunError` where it would give root away."""
    words = command()
    for path in (words[0], words[2]):
        if not _PLAIN.issuperset(path):
            raise RunError(f"'{path}' cannot stand in a rule of sudo's: install stapy elsewhere")
    library = _library(words[0])
    # Near its program Python looks for its settings.
    plain = {*_above(words[2])}.difference(library, _above(os.path.realpath(words[0])))
    for path in _files(words[0], words[2], library):
        try:
            _check(path, path in plain)
        except OSError as error:
            raise RunError(f"'{path}' cannot be looked at: {error.strerror}") from None
    return _RULE.format(command=" ".join(words)).splitlines()


def _library(python: str) -> List[str]:
    """Ask an interpreter where it looks for modules, and for the libraries that it is made of."""
    try:
        status, text = run([python, "-ISB", "-c", _ASK])
    except OSError as error:
        raise RunError(f"cannot run '{python}': {error.strerror}") from None
    places = [line for line in text.splitlines() if line.startswith("/")]
    if status or not places:
        raise RunError(f"'{python}' does not say where its library is: {text or status}")
    return places


def _files(python: str, folder: str, library: Iterable[str]) -> Iterator[str]:
    """Yield what root would run, with the folders above, and the same of what links lead to."""
    yield from _way(python)
    yield from _way(folder)
    for path in _below(folder):
        yield path
        if os.path.islink(path):
            yield from _way(path)
            if os.path.isdir(path):  # Python would look for modules in it, we do not
                raise RunError(f"'{path}' is a link to a folder: install stapy without it")
    seen: Set[str] = set()
    for place in library:
        # What is not there, as an archive of the library, could come.
        yield from _way(place) if os.path.exists(place) else _above(place)
        yield from _modules(place, seen)


def _below(folder: str, without: Sequence[str] = ()) -> Iterator[str]:
    """Yield what is in a folder and in those in it, but for folders of these names."""
    for around, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        for name in (*folders, *names):
            yield f"{around}/{name}"


def _modules(folder: str, seen: Set[str]) -> Iterator[str]:
    """Yield what Python would take for modules in a folder of its library, also behind links."""
    seen.add(os.path.realpath(folder))
    for path in _below(folder, _OTHERS):
        is_folder = os.path.isdir(path)
        if not (is_folder or path.endswith(_MODULES)):
            continue
        yield path
        if os.path.islink(path):
            yield from _way(path)
            if is_folder and os.path.realpath(path) not in seen:
                yield from _modules(os.path.realpath(path), seen)


def _way(path: str) -> Iterator[str]:
    """Yield what a path leads through, from its end; of a link also the way to its target."""
    for place in (path, *_above(path)):
        yield place
        if os.path.islink(place):
            yield from _way(
                os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
            )
            yield from _way(os.path.realpath(place))  # the same, but for ".." behind a link


def _above(path: str) -> List[str]:
    """List the folders above a path, but for the root of all."""
    folders = []
    while os.path.dirname(path) != "/":
        path = os.path.dirname(path)
        folders.append(path)
    return folders


def _check(path: str, may_be_sticky: bool) -> None:
    """Raise `RunError` where others than root can change what stands here, or cannot read it.

    In a folder with the sticky bit nobody can replace what is root's, but all can add: above our
    code that does no harm (``may_be_sticky``). In it that is a module, near Python its settings.
    """
    status = os.stat(path)
    is_folder = stat.S_ISDIR(status.st_mode)
    is_sticky = is_folder and status.st_mode & stat.S_ISVTX and not status.st_uid
    why = "" if may_be_sticky and is_sticky else why_open(status)
    if why:
        raise RunError(f"the rule would let others become root: '{path}': {why}")
    if not status.st_mode & (stat.S_IXOTH if is_folder else stat.S_IROTH):
        raise RunError(f"members could not run it: '{path}' is closed to them")

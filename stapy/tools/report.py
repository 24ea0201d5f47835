"""``stapy report``: one archive with what a report of a fault should have.

What goes in is listed before anything is written, with what of it is the user's own.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from stapy import __version__, cli
from stapy.ending import cleaning_up
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.record import Record
from stapy.tools import doctor
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain
from stapy.trust import write_new

_PATIENCE = 900.0  # seconds for passes 1 to 4, a first build among them
_GRACE = 30.0  # for such a command to remove what it has made
_VARIABLES = ("STAPY_", "SYSTEMTAP_", "DEBUGINFOD_", "XDG_CACHE_HOME", "XDG_DATA_DIRS", "LANG")
_END = """\
Words behind '--' (or a script alone) are those of the stapy command that went wrong. It is repeated
up to pass 4, for its messages: nothing is loaded. Nothing is sent anywhere."""


class Part(Record):
    """One file of the archive; ``is_own`` when it holds what the user wrote."""

    name: str
    data: bytes
    what: str
    is_own: bool = False


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    it = ToolArgumentParser(
        "report", "Pack what a report of a fault should have into one archive.", _END
    )
    it.add_argument(
        "-o", dest="output", metavar="FILE", help="write FILE (stapy-report-TIME.tar.gz)"
    )
    it.add_argument("-n", "--list", dest="only_list", action="store_true",
                    help="list what would be inside, write nothing")  # fmt: skip
    it.add_argument("-y", "--yes", action="store_true", help="do not ask, on a terminal")
    it.add_argument("--add", metavar="FILE", action="append", default=[],
                    help="add a file, such as a log that a message named")  # fmt: skip
    it.add_argument("script", nargs="?", help="the script that it is about")
    return it


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    end = words.index("--") if "--" in words else len(words)
    given = parser().take(words[:end])
    command = ([given.script] if given.script else []) + words[end + 1 :]
    output = Path(given.output or time.strftime("stapy-report-%Y%m%d-%H%M%S.tar.gz"))
    try:
        parts = collect(command, [Path(name) for name in given.add])
    except UsageError as error:
        complain(f"stapy report: {error}")
        return UNUSABLE
    except OSError as error:
        complain(f"stapy report: '{error.filename}': {error.strerror}")
        return UNUSABLE
    print(contents_of(output, parts), file=sys.stderr, end="")
    if given.only_list:
        return 0
    if not given.yes and sys.stdin.isatty() and sys.stderr.isatty() and not _agreed():
        return 1
    try:
        write_new(output, packed(output, parts))
    except OSError as error:
        complain(f"stapy report: '{output}' cannot be written: {error.strerror}")
        return 1
    print(output)
    return 0


def contents_of(output: Path, parts: list[Part]) -> str:
    """Write what is said before any file is written."""
    lines = [f"{output.name} has:"]
    for part in parts:
        mark = "YOURS: " if part.is_own else ""
        lines.append(f"  {part.name:<14} {len(part.data):>8} bytes  {mark}{part.what}")
    lines.append("Look at what is marked YOURS before you give it away.")
    return "\n".join(lines) + "\n"


def _agreed() -> bool:
    print("Write it? [Y/n] ", file=sys.stderr, end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


# --- what goes in ---------------------------------------------------------------


def collect(command: list[str], added: list[Path]) -> list[Part]:
    """Collect the files of the archive; raise `UsageError` for a command that makes no sense."""
    options = cli.parse(["-p4", *command], defaults=1) if command else Options()
    parts = [Part("about.txt", _about(), "versions, and variables that stapy reads", is_own=True)]
    answer = doctor.examine(options.release, options.sysroot, "")
    if answer is not None:
        text = json.dumps(answer.as_data(), indent=2) + "\n"
        parts.append(Part("doctor.json", _tidy(text), "what 'stapy doctor' finds"))
    if command:
        parts += _repeated(command, options)
    for path in added:
        name = f"added/{path.name}"
        parts.append(Part(name, path.read_bytes(), f"the file {path}", is_own=True))
    return parts


def _about() -> bytes:
    system = os.uname()
    lines = [
        f"stapy {__version__}",
        f"Python {sys.version}",
        f"{system.sysname} {system.release} {system.version} {system.machine}",
        _distribution(),
        *(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)),
    ]
    return _tidy("\n".join(lines) + "\n")


def _distribution() -> str:
    try:
        text = Path("/etc/os-release").read_text("utf-8", "replace")
    except OSError:
        return "no /etc/os-release"
    names = [line for line in text.splitlines() if line.startswith(("PRETTY_NAME", "VERSION_ID"))]
    return " ".join(names)


def _repeated(command: list[str], options: Options) -> list[Part]:
    """Repeat the command; return its words, its scripts, and what it says."""
    if options.clean_cache or options.prepare:
        raise UsageError("--clean-cache and --prepare change something: leave them out")
    if options.last_pass > 4:
        raise UsageError("a report does not load anything: leave -p5 out")
    parts = [Part("command.txt", _tidy(shlex.join(command) + "\n"), "the command", is_own=True)]
    if options.script_file == "-":
        raise UsageError("standard input cannot be repeated: put the script into a file")
    if options.script_file:
        script = Path(options.script_file).read_bytes()
        parts.append(Part("script.stp", script, "your script, as it is", is_own=True))
    last = "-p3" if options.module_name else "-p4"  # -m would leave a file behind
    if options.last_pass < 4:
        last = f"-p{options.last_pass}"
    words = [sys.executable, "-m", "stapy", last, "-v", *command]
    # -m puts the current folder before all others: not what lies there, but this stapy.
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    said = _said(words, environment)
    what = f"what passes 1 to {last[2]} say, with lines of your script"
    return [*parts, Part("messages.txt", _tidy(said), what, is_own=True)]


def _said(words: list[str], environment: dict[str, str]) -> str:
    """Run a command of ours; tell what it says on standard error, and how it ends."""
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="backslashreplace", env=environment,
    )  # fmt: skip
    try:
        said = process.communicate(timeout=_PATIENCE)[1]
        return f"{said}exit status {process.returncode}\n"
    except subprocess.TimeoutExpired:
        return f"it did not end in {_PATIENCE:.0f} seconds\n"
    finally:
        if process.returncode is None:
            with cleaning_up():
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a command to end, which removes what it has made then; who does not listen is killed."""
    process.terminate()
    try:
        process.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _tidy(text: str) -> bytes:
    """Encode a text, without the name of the user's home."""
    home = os.environ.get("HOME", "").rstrip("/")
    return (text.replace(home, "~") if home else text).encode("utf-8", "backslashreplace")


def packed(output: Path, parts: list[Part]) -> bytes:
    """Pack the archive: no names of users, and one folder in which everything lies."""
    folder = output.name.partition(".")[0] or "stapy-report"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for part in parts:
            entry = tarfile.TarInfo(f"{folder}/{part.name}")
            entry.size, entry.mtime = len(part.data), int(time.time())
            archive.addfile(entry, io.BytesIO(part.data))
    return buffer.getvalue()

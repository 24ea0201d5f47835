"""The program ``stapy-run``."""

from __future__ import annotations

import os
import sys

from . import streams
from .command_line import parse, wants_json
from .consumer import run
from .elf import ModuleFile, describe
from .errors import RunError
from .messages import MessagePrinter
from .options import UsageError
from .printable import one_line, shown
from .signals import hear_of_children
from .usage import USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional


def main(words: Optional[List[str]] = None) -> int:
    """Obey a command line; return the exit status."""
    words = sys.argv[1:] if words is None else words
    streams.hold()
    hear_of_children()
    name_process("stapy-run")
    try:
        if "-h" in words or "--help" in words:
            return streams.show([USAGE.rstrip("\n")])
        if "-V" in words or "--version" in words:
            return streams.show([version()])
        if words == ["--sudoers"]:
            from . import sudo

            return streams.show(sudo.rule())
        if words == ["--list"]:
            from . import sessions

            return streams.show([shown(line) for line in sessions.lines()])
        hands = None
        if words[:1] == ["--as-member"]:
            from . import member

            words = words[1:]
            hands = member.begin()
        if os.path.basename(sys.argv[0]) == "staprun":
            words = as_staprun(words)
        options = parse(words)
        if not (options.attach or options.delete):
            options.module = module_place(options.module)
        if options.info:
            return streams.show([shown(line) for line in describe(ModuleFile(options.module))])
        if os.geteuid() != 0 and not hands:
            from . import sudo

            if sudo.is_needed():
                sudo.become(words)
        return run(options.module, options, hands)
    except UsageError as error:
        messages = MessagePrinter(as_json=wants_json(words))
        text = error.args[0].rstrip(".")
        text += "" if text.endswith("?") else "."
        messages.error(one_line(f"{text} Try 'stapy-run --help'."))
    except RunError as error:
        MessagePrinter(as_json=wants_json(words)).error(str(error))
    return 1


def as_staprun(words: List[str]) -> List[str]:
    """Return a command line for staprun: its pictures, and no -T, the patience of its reader.

    Here a reader is woken when there is something to read, so that time is none of ours;
    the -T of stapy-run would end the session instead.
    """
    kept: List[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "-T" and queue:
            word += queue.pop(0)
        if word.startswith("-T"):
            MessagePrinter().warning(f"{word} has no effect: output comes as soon as there is some")
        else:
            kept.append(word)
        if not word.startswith("-"):
            return [*_pictures(words), *kept, *queue]
        if word in ("-c", "-x", "-N", "-o", "-S", "-b", "-C", "-M") and queue:
            kept.append(queue.pop(0))
    return [*_pictures(words), *kept]


def _pictures(words: List[str]) -> List[str]:
    """Have staprun draw as in a file, unless its command line says otherwise."""
    return [] if any(word.startswith("--width") for word in words) else ["--width=0"]


def start() -> None:
    """Run `main` and exit: the entry of an archive by zipapp, which drops what `main` returns."""
    sys.exit(main())


def module_place(name: str, folder: str = "/lib/modules/{release}/systemtap") -> str:
    """Find the file of a module: a path, or a name that the administrator has laid down."""
    if "/" in name or os.path.exists(name):
        return name
    bare = name[:-3] if name.endswith(".ko") else name
    place = f"{folder.format(release=os.uname().release)}/{bare}.ko"
    return place if os.path.isfile(place) else name


def name_process(name: str) -> None:
    """Set what execname() and ps shall call us; an interpreter's name tells nobody anything."""
    try:
        with open("/proc/self/comm", "w", encoding="ascii") as file:
            file.write(name)
    except OSError:
        pass  # it is only a name


def version() -> str:
    """Return what ``-V`` prints; a bare copy of this folder does not know its number."""
    try:
        from stapy import LANGUAGE_VERSION, __version__
    except ImportError:
        return "stapy-run (bare copy)"
    return (
        f"Systemtap module loader/runner (version {LANGUAGE_VERSION}/{__version__},"
        f" stapy-run {__version__})"
    )

"""What a command is given: its cache, the texts of its scripts, the kernel that they are for."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from stapy import kernel as kernels
from stapy.options.tools import APART, TOOLS
from stapy.paths import cache_place

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.session.messages import PassMessages

_MOST_SHOWN = 60  # characters of a script's text that was taken for a file
_ELF = b"\x7fELF"  # what modules and programs begin with


def check_cache(session: PassMessages) -> None:
    """Say why caches are not where the user expects them: what others can write is not used."""
    if session.options.use_cache and cache_place().complaint:
        session.warn_here("W0660", cache_place().complaint)


def read_texts(session: PassMessages) -> list[tuple[str, str]]:
    """Read the script texts as ``(name, text)``; standard input and files are read once."""
    options = session.options
    texts: list[tuple[str, str]] = []
    if options.script_text is not None:
        texts.append(("<input>", options.script_text))
    elif options.script_file == "-":
        data = sys.stdin.buffer.read()
        texts.append(("<input>", data.decode("utf-8", "surrogateescape")))
    elif options.script_file is not None:
        try:
            data = Path(options.script_file).read_bytes()
        except OSError as error:
            session.at_pass = 1
            session.refuse(
                "E0190",
                f"Input file '{options.script_file}' is missing or unreadable: {error.strerror}",
                kind="parse error",
                hint=_meant(options),
            )
        if data.startswith(_ELF):
            _refuse_compiled(session, options.script_file)
        texts.append((options.script_file, data.decode("utf-8", "surrogateescape")))
    for number, text in enumerate(options.extra_scripts, 1):
        texts.append((f"<input {number}>", text))
    if options.listing is not None:
        texts.append(("<input>", f"probe {options.listing} {{}}"))
    return texts


def find_kernel(session: PassMessages) -> Kernel:
    """Find the kernel that the module is for."""
    options = session.options
    release = options.release or os.environ.get("SYSTEMTAP_RELEASE")
    if options.vm:
        from stapy.vm.errors import VmError
        from stapy.vm.kernels import default_release, newest

        try:
            release = options.vm_release or default_release(options.sysroot, options.architecture)
            release = newest(release, options.sysroot, options.architecture)
            options.vm_release = release
        except VmError as error:
            session.refuse("E0590", str(error), kind="run error", hint=error.hint)
    return kernels.find_kernel(
        release,
        session.diagnostics,
        options.sysroot,
        options.architecture,
        is_of_host=options.elsewhere,
    )


def _refuse_compiled(session: PassMessages, file: str) -> NoReturn:
    """Refuse a module or a program where a script is wanted, with what takes it."""
    session.at_pass = 1
    is_module = file.endswith(".ko")
    session.refuse(
        "E0196",
        f"Input file '{file}' is a compiled {'module' if is_module else 'program'}, not a script",
        kind="parse error",
        hint=f"stapy-run {_quoted(file)} runs a module"
        if is_module
        else f'-c {_quoted(file)} runs it, process("{file}") in a script names it',
    )


def _quoted(text: str) -> str:
    """Quote a word for a shell: in messages only."""
    from shlex import quote

    return quote(text)


def _meant(options: Options) -> str:
    """Suggest what a file that is none may be.

    That is the value of the option before it, a script's text, a tool or another file.
    """
    name = options.script_file or ""
    word = options.apart.get(name)
    if word:
        return f"did you mean {word}?"
    text = " ".join([name, *options.arguments])
    if is_text(text) or "{" in name:
        shown = text if len(text) < _MOST_SHOWN else text[:_MOST_SHOWN] + "…"
        return f"did you mean -e? stapy -e {_quoted(shown)}"
    return _meant_for_tool(name) or _near_script(Path(name))


def is_text(word: str) -> bool:
    """Tell whether a word that stands where a file belongs is a script's text."""
    return bool(re.match(r"\s*(?:probe|global|private|function)\s", word))


def _near_script(path: Path) -> str:
    """Suggest a script of the same folder."""
    from stapy.diagnostics.suggest import nearest

    try:
        names = sorted(file.name for file in path.parent.iterdir() if file.suffix == ".stp")
    except OSError:
        return ""
    near = [name for name in names if name == path.name + ".stp"] or nearest(path.name, names, 1)
    return f"did you mean '{path.with_name(near[0])}'?" if near else ""


def _meant_for_tool(word: str) -> str:
    if not word.isalpha():
        return ""
    from stapy.diagnostics.suggest import nearest

    near = [word] if word in (*TOOLS, *APART) else nearest(word, (*TOOLS, *APART), 1)
    return f"did you mean 'stapy{'-' if near[0] in APART else ' '}{near[0]}'?" if near else ""

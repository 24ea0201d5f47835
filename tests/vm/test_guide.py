"""The tutorial, block by block, and the examples of the language's page that print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from stapy.record import Record
from stapy.run.options import RunOptions
from stapy.vm.machine import Machine
from tests.guide import pages
from tests.guide.shape import differs
from tests.vm import forks
from tests.vm.harness import ROOT, SECONDS, Builds, Guests, build, check_kernel, run_options
from tests.vm.together import run_together

pytestmark = [pytest.mark.build, pytest.mark.vm]

TOOLS = {"check": True, "fmt": False}  # those that the tutorial uses, and whether -r is theirs
_FILE = re.compile(r"^# (\S+\.stp)", re.MULTILINE)
_COMMAND = re.compile(r"^# (.*)\n((?:(?!# ).*\n)*)", re.MULTILINE)


class Command(Record):
    """A command of a page, what it shows, and the scripts that are there by then."""

    place: str
    words: list[str]
    shown: str
    files: dict[str, str]

    @property
    def runs_here(self) -> bool:
        """Tell what no kernel is needed for: lists, tools, mistakes."""
        return (
            self.words[0] != "stapy"
            or self.words[1] in (*TOOLS, "-l", "-L")
            or bool(re.match(r"\w+ error: ", self.shown))
        )


def commands(page: str) -> list[Command]:
    """List the commands of a page's consoles; a script's name stands in its first comment."""
    files: dict[str, str] = {}
    found = []
    for block in pages.blocks(page):
        if block.language == "stap":
            name = _FILE.search(block.text)
            assert name, f"{block.place}: a script without a name"
            files = {**files, name[1]: block.text}
        elif block.language == "console":
            for line, shown in _COMMAND.findall(block.text):
                words = shlex.split(line)
                if words[0].startswith("./"):
                    words = ["stapy", words[0][2:], *words[1:]]
                found.append(Command(block.place, words, shown, files))
    return found


def run_here(command: Command, release: str, folder: Path) -> str:
    """Run a command that needs no kernel; return what it prints."""
    words = list(command.words)
    if words[0] != "stapy":
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    at = 2 if words[1] in TOOLS else 1
    if TOOLS.get(words[1], True):
        words[at:at] = ["-r", release]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = forks.run(words[1:], cwd=folder, env=env, timeout=600)
    return done.stdout + done.stderr


def made(command: Command, release: str, folder: Path, guest: Machine) -> object:
    """Make the module of a command; return the options of its consumer, or why there are none."""
    words = command.words[1:]
    done = build(release, words, folder)
    if done.module is None:
        return f"no module\n{done.stdout}{done.stderr}"
    options = run_options(words)
    options.module = guest.push(done.module)
    return options


# --- the language ------------------------------------------------------------------


def together(examples: list[pages.Block]) -> str:
    """Write examples as one script, in which each says its number first."""
    parts = []
    for number, block in enumerate(examples):
        start = f'probe begin({number}) {{ println("### {number}");'
        parts.append(re.sub(r"probe oneshot\b[^{]*\{", start, block.text))
    return "".join(parts) + f"probe begin({len(examples)}) {{ exit() }}\n"


def test_language(release: str, guests: Guests, builds: Builds) -> None:
    guest = guests.get(release)
    shown = [block for block in pages.scripts("language.md") if block.shown]
    alone = [block for block in shown if "refused" not in block.marks and is_alone(block)]
    joined = [block for block in shown if "refused" not in block.marks and not is_alone(block)]
    sessions = {}
    for number, block in enumerate(alone):
        done = build(release, ["-e", block.text, *block.words], builds.folder())
        assert done.module, f"{block.place}\n{done.stderr}"
        sessions[str(number)] = run_options(["-e", "", *block.words])
        sessions[str(number)].module = guest.push(done.module)
    done = build(release, ["-g", "-e", together(joined)], builds.folder())
    assert done.module, done.stderr
    sessions["joined"] = RunOptions(module=guest.push(done.module))
    results = run_together(guest, "language", sessions, 2 * SECONDS)
    texts = re.split(r"^### \d+\n", results["joined"].stdout, flags=re.MULTILINE)[1:]
    assert len(texts) == len(joined), f"{results['joined'].stdout}\n{results['joined'].stderr}"
    printed = list(zip(joined, texts, strict=True))
    printed += [(block, results[str(number)].stdout) for number, block in enumerate(alone)]
    wrong = [
        f"=== {block.place} shows\n{block.shown}--- printed was\n{text}"
        for block, text in printed
        if block.shown != text
    ]
    assert not wrong, "\n".join(wrong)


def is_alone(block: pages.Block) -> bool:
    """Tell an example that is a session of its own: one that has words, or no oneshot probe."""
    return block.words not in ([], ["-g"]) or "oneshot" not in block.text


# --- the tutorial ------------------------------------------------------------------


def test_tutorial(release: str, guests: Guests, builds: Builds) -> None:
    failed = {}
    sessions = {}
    guest = guests.get(release)
    asked = commands("tutorial.md")
    for number, command in enumerate(asked):
        folder = builds.folder()
        for name, text in command.files.items():
            (folder / name).write_text(text)
        key = f"{number:02} {command.place}: {shlex.join(command.words)}"
        if command.runs_here:
            failed[key] = differs(command.shown, run_here(command, release, folder))
            continue
        options = made(command, release, folder, guest)
        if isinstance(options, str):
            failed[key] = options
        else:
            sessions[str(number)] = options
    results = run_together(guest, "tutorial", sessions, 2 * SECONDS)
    for number, command in enumerate(asked):
        result = results.get(str(number))
        if result is None:
            continue
        check_kernel(result)
        key = f"{number:02} {command.place}: {shlex.join(command.words)}"
        failed[key] = differs(command.shown, result.stdout + result.stderr)
        if result.status:
            failed[key] += f"--- status {result.status}"
    assert not any(failed.values()), "\n".join(
        f"=== {key}\n{why}" for key, why in failed.items() if why
    )

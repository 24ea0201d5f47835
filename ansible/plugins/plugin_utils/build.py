"""Build modules on the controller: each one once, however many hosts and forks want it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_ERROR = re.compile(r"^(?:ERROR:|[\w -]*error:|Usage:)")


class BuildError(Exception):
    """No module, or no stapy-run, could be made; ``stderr`` has all that was said."""

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr


class Request(NamedTuple):
    """What a module is made of; equal requests of one task are one build."""

    release: str
    arch: str
    script: str  # the path of a file, "" for a text
    text: str
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    globals: tuple[tuple[str, str], ...]

    def key(self, task: str) -> str:
        """Name the build in a task; values of globals do not count, since stapy-run sets them."""
        kinds = [(name, re.fullmatch(r"-?\d+", value) is None) for name, value in self.globals]
        return _key([task, *self._replace(globals=()), kinds])

    def words(self) -> list[str]:
        """List the words behind the name of stapy."""
        words = [*self.options, "-p4", "-r", self.release, "--message-format=rich"]
        for name, value in self.globals:
            words += ["-G", f"{name}={value}"]
        words += [self.script] if self.script else ["-e", self.text]
        return [*words, "--", *self.arguments]


class Builder:
    """stapy as a program, and the folder that all forks of one ansible have in common."""

    def __init__(self, program: list[str], folder: str, place: str) -> None:
        """Take the words of the program, the common folder, and where relative names begin."""
        self.program = program
        self.folder = Path(folder)
        self.place = place

    def runner(self) -> str:
        """Make stapy-run as one file; its path.  Raises BuildError."""

        def work(folder: Path) -> dict[str, Any]:
            path = folder / "stapy-run.pyz"
            done = self._run(["pack", str(path)], str(folder))
            if done.returncode or not path.is_file():
                return _failure("stapy-run cannot be packed", done)
            return {"path": str(path)}

        return self._once(_key(["runner", *self.program]), work)

    def module(self, request: Request, task: str) -> str:
        """Make a module; the path of a copy that stays until ansible ends.  Raises BuildError."""

        def work(folder: Path) -> dict[str, Any]:
            done = self._run(request.words(), self.place)
            if done.returncode:
                return _failure(f"there is no module for {request.release}", done)
            made = Path(self.place, (done.stdout.splitlines() or [""])[-1])
            if made.suffix != ".ko" or not made.is_file():
                return _failure("stapy did not name a module: does an option forbid it?", done)
            return {"path": str(shutil.copy(made, folder / made.name))}

        return self._once(_key([request.key(task), self.place, *self.program]), work)

    def _once(self, key: str, work: Callable[[Path], dict[str, Any]]) -> str:
        """Do the work in the first fork that asks; the others wait and take what came of it."""
        folder = self.folder / f"stapy-{key}"
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            told = folder / "outcome"
            if told.exists():
                outcome = json.loads(told.read_text("utf-8"))
            else:
                outcome = work(folder)
                told.write_text(json.dumps(outcome), "utf-8")
        if "error" in outcome:
            raise BuildError(outcome["error"], outcome["stderr"])
        return str(outcome["path"])

    def _run(self, words: list[str], place: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self.program, *words],
                cwd=place,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BuildError(f"cannot start {self.program[0]} on the controller: {why}") from None


def _failure(what: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Tell why a build failed: the first error of those that were printed."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)] or lines[-1:]
    why = errors[0] if errors else f"status {done.returncode}"
    return {"error": f"{what}: {why}", "stderr": done.stderr}


def _key(parts: list[Any]) -> str:
    return hashlib.sha256(os.fsencode(json.dumps(parts))).hexdigest()[:32]

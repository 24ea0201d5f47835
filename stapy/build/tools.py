"""Where the programs of pass 4 run: here, or in a container (`stapy.build.container`)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from stapy.build import process
from stapy.build.process import Result
from stapy.cache import file_identity
from stapy.temporary import TemporaryFolder, scratch_root


class Tools:
    """This machine's programs; a place elsewhere is a subclass.

    ``identity`` goes into the keys of all that is made with them, "" for this
    machine's; ``image`` is what to call the other place in messages.  ``make_words`` are what a
    kernel's make must be told.
    """

    identity = ""
    image = ""
    make_words: tuple[str, ...] = ()

    def run(self, argv: list[str], environment: dict[str, str] | None = None) -> Result:
        """Start a program and wait for it; an `OSError` when it is not there."""
        return process.run(argv, environment)

    def run_many(
        self, commands: list[list[str]], environment: dict[str, str], width: int
    ) -> list[Result]:
        """Run programs, at most ``width`` at a time; results are in the order of ``commands``."""
        return process.run_many(commands, environment, width)

    def find(self, name: str) -> str | None:
        """Find the absolute path of a program, None when it is not there."""
        return process.find_program(name)

    def stamp(self, program: str) -> tuple[str, int, int]:
        """Name the state of a program: another one has another stamp."""
        return file_identity(Path(program))

    def scratch(self) -> Path:
        """Return a folder that programs see under the same name as we."""
        return Path(scratch_root())

    def folder(self, purpose: str) -> AbstractContextManager[Path]:
        """Hold a new folder for programs to work in, removed on the way out."""
        return TemporaryFolder(purpose)

    def begin(self) -> None:
        """Prepare for programs that will be run soon."""

    def close(self) -> None:
        """Give up what was started."""


HERE = Tools()

"""``--build-in`` and ``--prepare``: the container of a command, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from stapy.paths import data_dir
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.build.container import ContainerError
    from stapy.build.tools import Tools
    from stapy.kernel import Kernel
    from stapy.session import Session


def open_tools(session: Session, kernel: Kernel) -> Tools:
    """The container in which this command's module is made; it starts when it is needed."""
    from stapy.build import images
    from stapy.build.container import ContainerError

    options = session.options
    runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
    try:
        choice = images.choose(options.build_in, kernel)
        if choice.reason:
            session.note(f"building in {choice.image}: {choice.reason}")
        return images.open_container(choice, kernel, runtime.absolute(), session.work_folder())
    except ContainerError as error:
        _refuse(session, error)


def prepare(session: Session, kernel: Kernel) -> int:
    """Make the image; the exit status."""
    from stapy.build import images
    from stapy.build.container import ContainerError

    def say(text: str) -> None:
        progress.clear()
        session.note(text)

    try:
        choice = images.choose(session.options.build_in, kernel)
        made = images.prepare(choice, say)
    except ContainerError as error:
        _refuse(session, error)
    session.note(f"{choice.image} is ready" if made else f"{choice.image} was here already")
    return 0


def _refuse(session: Session, error: ContainerError) -> NoReturn:
    session.at_pass = 4
    session.refuse(
        "E0408",
        f"cannot build in a container: {error}",
        kind="build error",
        hint=error.hint,
    )

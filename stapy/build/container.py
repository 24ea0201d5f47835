"""A container whose programs make modules: for kernels whose compiler this machine does not have.

One container is started when the first program is needed, and kept; each program
is run in it by itself.  The kernel's tree, our runtime and the cache come in
as volumes that cannot be written to, at the places where they lie outside, so
that one command line means the same on both sides.  There is no network.

Its first process reads from a connection of ours and ends with it: a command that
is killed leaves no container behind.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from stapy.build.process import Result
from stapy.build.tools import Tools
from stapy.paths import exists
from stapy.temporary import make_folder

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stapy.build.kit import BuildKernel

_INCLUDE = re.compile(r"^include[ \t]+(/\S+)/Makefile[ \t]*$", re.M)
_NOT_FOUND = (126, 127)
_OWNER = "stapy.process"  # the label with the number of the process that has made a container


class ContainerError(Exception):
    """There is nothing to build in; ``hint`` is what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


class Docker:
    """The SDK with a daemon that answers; docker's, or podman's by ``DOCKER_HOST``."""

    def __init__(self) -> None:
        # The SDK takes a quarter of a second to import, so nobody else may pay for it.
        try:
            self.sdk: Any = importlib.import_module("docker")
            self.types: Any = importlib.import_module("docker.types")
        except ImportError as error:  # a folder of that name, as in our checkout, is no SDK
            raise ContainerError(
                "the Python package docker is missing", "pip install 'stapy[docker]'"
            ) from error
        try:
            self.client: Any = self.sdk.from_env()
            self.client.ping()
        except self.sdk.errors.DockerException as error:
            raise ContainerError(
                f"docker does not answer: {short(error)}",
                "start the docker service, or name podman's socket in DOCKER_HOST; "
                "docker/daemon starts a private one",
            ) from error

    def image(self, name: str) -> Any | None:
        """An image that is here, None when it is not; nothing is fetched."""
        try:
            return self.client.images.get(name)
        except self.sdk.errors.ImageNotFound:
            return None
        except self.sdk.errors.DockerException as error:
            raise self.failed(error) from error

    def user(self) -> str:
        """Who owns the files that are made: root inside is ourselves when the daemon is ours."""
        own = f"{os.getuid()}:{os.getgid()}"
        rootless = os.getuid() and any(
            "rootless" in option for option in self.client.info().get("SecurityOptions") or ()
        )
        return "0:0" if rootless else own

    def failed(self, error: Exception) -> ContainerError:
        """What the daemon refused."""
        return ContainerError(
            f"docker: {short(error)}", "see whether `docker run` works with this image"
        )


class Container(Tools):
    """An image and, from the first program on, the container that was made of it.

    ``readable`` are folders and files that it sees, ``writable`` those that it
    may change, all under their own names.
    """

    def __init__(
        self, docker: Docker, image: Any, name: str, readable: list[Path], writable: list[Path]
    ) -> None:
        self.docker = docker
        self.image = name
        self.identity = str(image.id)
        self._image = image
        self.readable = readable
        self.writable = writable
        self._running: Future[Any] | None = None
        self._connection: Any = None
        self._scratch: Path | None = None

    # --- what the build asks for -----------------------------------------

    def run(self, argv: list[str], environment: dict[str, str] | None = None) -> Result:
        """Run a program; its CPU time is not known."""
        words = {"LC_ALL": "C", "LANGUAGE": "C", **(environment or {})}
        try:
            status, output = self.started().exec_run(
                argv, environment=words, workdir=str(self.scratch())
            )
        except self.docker.sdk.errors.DockerException as error:
            raise self.docker.failed(error) from error
        text = output.decode("utf-8", "replace")
        if status in _NOT_FOUND and re.search(r"OCI runtime|crun: |no such file", text):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        return Result(argv, status, text, 0.0)

    def run_many(
        self, commands: list[list[str]], environment: dict[str, str], width: int
    ) -> list[Result]:
        """Run programs at a time, each waited for by a thread."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(width) as pool:
            return list(pool.map(lambda argv: self.run(argv, environment), commands))

    def find(self, name: str) -> str | None:
        """Ask its shell."""
        done = self.run(["/bin/sh", "-c", 'command -v "$1"', "sh", name])
        return done.output.strip() or None if done.status == 0 else None

    def stamp(self, program: str) -> tuple[str, int, int]:
        """The image's content says all about its programs."""
        return f"{program} in {self.identity}", 0, 0

    def scratch(self) -> Path:
        """A folder of this container's own."""
        if self._scratch is None:
            self._scratch = make_folder("container")
        return self._scratch

    @contextmanager
    def folder(self, purpose: str) -> Iterator[Path]:
        """A new folder in there."""
        folder = self.scratch() / f"{purpose}-{os.urandom(4).hex()}"
        folder.mkdir()
        try:
            yield folder
        finally:
            rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Let the container end, which removes it, and remove the folder."""
        if self._running is not None:
            with suppress(Exception):
                self._running.result().remove(force=True)
            if self._connection is not None:
                self._connection.close()
            self._running = None
        if self._scratch is not None:
            rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    # --- the container ---------------------------------------------------

    def begin(self) -> None:
        """Let the container start meanwhile: the daemon takes a second, and we wait for nothing."""
        from concurrent.futures import ThreadPoolExecutor

        if self._running is None:
            pool = ThreadPoolExecutor(1)
            self._running = pool.submit(self.start)
            pool.shutdown(wait=False)

    def started(self) -> Any:
        """The running container."""
        self.begin()
        assert self._running is not None
        return self._running.result()

    def start(self) -> Any:
        """Make and start it."""
        try:
            fresh = self.docker.client.containers.create(
                self._image,
                ["cat"],
                stdin_open=True,
                auto_remove=True,
                network_mode="none",
                user=self.docker.user(),
                mounts=self.mounts(),
                labels={_OWNER: str(os.getpid())},
            )
            # Its first process ends when this connection does.
            self._connection = fresh.attach_socket(params={"stdin": 1, "stream": 1})
            fresh.start()
            self.sweep()
        except self.docker.sdk.errors.DockerException as error:
            raise self.docker.failed(error) from error
        return fresh

    def sweep(self) -> None:
        """Remove what a command left that was killed before it could start its container."""
        wanted = {"label": _OWNER, "status": "created"}
        for left in self.docker.client.containers.list(
            all=True, filters=wanted, ignore_removed=True
        ):
            if not exists(f"/proc/{left.labels.get(_OWNER)}"):
                left.remove(force=True)

    def mounts(self) -> list[Any]:
        """Volumes; one that is not there is an error, not a new folder."""
        mount = self.docker.types.Mount
        writable = [*self.writable, self.scratch()]
        return [
            *(mount(str(p), str(p), type="bind", read_only=True) for p in topmost(self.readable)),
            *(mount(str(p), str(p), type="bind") for p in writable),
        ]


def topmost(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie below another one."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(other in path.parents for other in kept):
            kept.append(path)
    return kept


def tree_of(kernel: BuildKernel) -> list[Path]:
    """All folders that a kernel's build tree consists of: links lead from one to the next."""
    found: list[Path] = []
    waiting = [kernel.build_dir] if kernel.build_dir is not None else []
    while waiting:
        folder = waiting.pop()
        if not exists(folder) or folder in found:
            continue
        if folder.is_symlink():  # the link must be there as well
            found.append(folder.parent)
        real = folder.resolve()
        if real in found:
            continue
        found += [folder] if folder == real else [real]
        with suppress(OSError):
            waiting += [path.resolve() for path in real.iterdir() if path.is_symlink()]
            text = (real / "Makefile").read_text("utf-8", "surrogateescape")
            waiting += [Path(name) for name in _INCLUDE.findall(text)]
    return found


def short(error: Exception) -> str:
    """The first line of what a daemon says."""
    lines = str(getattr(error, "explanation", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

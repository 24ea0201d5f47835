"""A container whose programs make modules: for kernels whose compiler this machine does not have.

One container is started when the first program is needed, and kept; each program
is run in it by itself.  The kernel's tree, our runtime, kits and objects of the cache
come in as volumes that cannot be written to, at the places where they lie outside, so
that one command line means the same on both sides.  What programs write goes into copies
of our folders, see `exchange`.  There is no network, no capability and, where files
may be read by all, no root.

Its first process reads from a connection of ours and ends with it: a command that
is killed leaves no container behind.
"""

from __future__ import annotations

import errno
import os
import re
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from stapy.build.daemon import NOBODY, ContainerError, Docker
from stapy.build.exchange import Exchange, ExchangeError
from stapy.build.owner import OWNER, PROCESS, is_left, labels
from stapy.build.process import Result
from stapy.build.tools import Tools
from stapy.paths import exists, is_dir
from stapy.temporary import unused_folder

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stapy.build.kit import BuildKernel

_INCLUDE = re.compile(r"^include[ \t]+(/\S+)/Makefile[ \t]*$", re.M)
_NOT_FOUND = (126, 127)
# It reads from our connection, and its shell waits for what others have left behind.
_FIRST = ["/bin/sh", "-c", "cat >/dev/null; :"]
# More is used by nothing that we start; docker/README.md says what happens then.
_MOST = 4096  # open files, and processes of the user that programs run as
MEMORY_MB = 4096
PROCESSES = 256
_KILLED = re.compile(r"\bKilled\b")
_NO_PROCESS = re.compile(r"\bCannot fork\b|fork\b.*: Resource temporarily|spawn: Resource temp")


class Container(Tools):
    """An image and, from the first program on, the container that was made of it.

    ``readable`` are folders and files that it sees under their own names,
    ``writable`` folders of which it has copies.
    """

    def __init__(
        self, docker: Docker, image: Any, name: str, readable: list[Path], writable: list[Path]
    ) -> None:
        self.docker = docker
        self.image = name
        self.readable = readable
        self.writable = writable
        self.user = docker.user(readable)
        # What root has made, others could perhaps not read.
        self.identity = f"{image.id}{' nobody' if self.user == NOBODY else ''}"
        self._image = image
        self._running: Future[Any] | None = None
        self._connection: Any = None
        self._base: Path | None = None
        self._exchanges: list[Exchange] = []

    # --- what the build asks for -----------------------------------------

    def run(self, argv: list[str], environment: dict[str, str] | None = None) -> Result:
        """Run a program; its CPU time is not known."""
        return self.run_many([argv], environment or {}, 1)[0]

    def run_many(
        self, commands: list[list[str]], environment: dict[str, str], width: int
    ) -> list[Result]:
        """Run programs at a time, each waited for by a thread."""
        from concurrent.futures import ThreadPoolExecutor

        self.started()
        try:
            for exchange in self._exchanges:
                exchange.give()
            with ThreadPoolExecutor(width) as pool:
                done = list(pool.map(lambda argv: self._run(argv, environment), commands))
            for exchange in self._exchanges:
                exchange.take()
        except ExchangeError as error:
            raise ContainerError(
                f"what came out of {self.image} is not used: {error}",
                "--build-in=auto takes an image that is made of Debian's packages",
            ) from None
        return done

    def _run(self, argv: list[str], environment: dict[str, str]) -> Result:
        words = {"LC_ALL": "C", "LANGUAGE": "C", **environment}
        try:
            status, output = self.started().exec_run(
                argv, environment=words, workdir=str(self.scratch())
            )
        except self.docker.sdk.errors.DockerException as error:
            raise self.docker.failed(error) from error
        text = output.decode("utf-8", "replace")
        if status in _NOT_FOUND and re.search(r"OCI runtime|crun: |no such file", text):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        if status and (status == 137 or _KILLED.search(text)):
            raise _limited(argv[0], f"was killed: the container has {MEMORY_MB} MB of memory")
        if status and _NO_PROCESS.search(text):
            raise _limited(argv[0], f"failed: the container may have {PROCESSES} processes")
        return Result(argv, status, text, 0.0)

    def find(self, name: str) -> str | None:
        """Ask its shell."""
        done = self.run(["/bin/sh", "-c", 'command -v "$1"', "sh", name])
        return done.output.strip() or None if done.status == 0 else None

    def stamp(self, program: str) -> tuple[str, int, int]:
        """Name a program's state: the image's content says all about its programs."""
        return f"{program} in {self.identity}", 0, 0

    def scratch(self) -> Path:
        """Return a folder of this container's own."""
        return self._folder() / "own"

    def _folder(self) -> Path:
        """Make, once, the folder with copies of folders and the folder of our own; return it."""
        if self._base is None:
            self._base = unused_folder("container")
            self._base.mkdir(mode=0o700)
            (self._base / "own").mkdir()
            since = self._base.stat().st_ctime_ns
            for number, ours in enumerate([*self.writable, self._base / "own"]):
                theirs = self._base / f"copy-{number}"
                theirs.mkdir()
                theirs.chmod(0o777)  # whoever its user is; the folder around it is ours alone
                self._exchanges.append(Exchange(ours, theirs, since))
        return self._base

    @contextmanager
    def folder(self, purpose: str) -> Iterator[Path]:
        """Hold a new folder in there, removed on the way out."""
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
        if self._base is not None:
            rmtree(self._base, ignore_errors=True)
            self._base = None
            self._exchanges = []

    # --- the container ---------------------------------------------------

    def begin(self) -> None:
        """Let the container start meanwhile: the daemon takes a second, and we wait for nothing."""
        from concurrent.futures import ThreadPoolExecutor

        if self._running is None:
            self._folder()  # before there are two of us
            pool = ThreadPoolExecutor(1)
            self._running = pool.submit(self.start)
            pool.shutdown(wait=False)

    def started(self) -> Any:
        """Wait for the running container and return it."""
        self.begin()
        assert self._running is not None
        return self._running.result()

    def start(self) -> Any:
        """Make and start it."""
        try:
            fresh = self.docker.client.containers.create(
                self._image,
                entrypoint=_FIRST,
                command=[],
                stdin_open=True,
                auto_remove=True,
                network_mode="none",
                user=self.user,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                read_only=True,
                tmpfs={"/tmp": "mode=1777"},
                mem_limit=MEMORY_MB << 20,
                memswap_limit=MEMORY_MB << 20,
                pids_limit=PROCESSES,
                ulimits=self._limits(),
                mounts=self.mounts(),
                labels=labels(),
            )
            # Its first process ends when this connection does.
            self._connection = fresh.attach_socket(params={"stdin": 1, "stream": 1})
            fresh.start()
            self.sweep()
        except self.docker.sdk.errors.DockerException as error:
            raise self.docker.failed(error) from error
        return fresh

    def _limits(self) -> list[object]:
        """List the limits that podman must be told: what it may set, and compilers never reach.

        By itself it raises them, which it may not where it is in a container or has no root;
        nothing would start then. docker's daemon sets what it may.
        """
        if self.docker.name != "podman":
            return []
        found: list[object] = []
        for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
            _, hard = resource.getrlimit(number)
            most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
            found.append(self.docker.sdk.types.Ulimit(name=name, soft=most, hard=most))
        return found

    def sweep(self) -> None:
        """Remove what a command of ours left that was killed before it could start its container.

        Others use the same daemon, from other machines and containers as well, whose processes
        we cannot see: what is not surely ours stays.
        """
        wanted = {"label": [PROCESS, f"{OWNER}={labels()[OWNER]}"], "status": "created"}
        for left in self.docker.client.containers.list(
            all=True, filters=wanted, ignore_removed=True
        ):
            if is_left(left.labels):
                left.remove(force=True)

    def mounts(self) -> list[Any]:
        """List the volumes; one that is not there is an error, not a new folder."""
        mount = self.docker.types.Mount
        base = self._folder()
        passage = []
        if self.user == NOBODY:
            # Images close /root, behind which the volumes of root's cache would be. Not a tmpfs:
            # that gets the mode of what it hides.
            (base / "root").mkdir()
            passage.append(mount("/root", str(base / "root"), type="bind"))
        return [
            *passage,
            *(mount(str(p), str(p), type="bind", read_only=True) for p in topmost(self.readable)),
            *(mount(str(e.ours), str(e.theirs), type="bind") for e in self._exchanges),
        ]


def _limited(program: str, why: str) -> ContainerError:
    return ContainerError(f"{program} {why}", "see 'Limits' in docker/README.md")


def topmost(paths: Iterable[Path]) -> list[Path]:
    """Drop the paths that lie below another one."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(other in path.parents for other in kept):
            kept.append(path)
    return kept


def tree_of(kernel: BuildKernel) -> list[Path]:
    """List all folders that a kernel's build tree consists of: links lead from one to the next."""
    found: list[Path] = []
    waiting = [kernel.build_dir] if kernel.build_dir is not None else []
    seen: set[Path] = set()
    while waiting:
        place = waiting.pop()
        if place in seen or not exists(place):
            continue
        seen.add(place)
        if place.is_symlink():  # the link must be there as well, and the next one
            found.append(place.parent)
            waiting.append(_next(place))
            continue
        found.append(place)
        waiting.append(place.resolve())  # it may be named by way of a folder that is a link
        if is_dir(place):
            with suppress(OSError):
                waiting += [_next(path) for path in place.iterdir() if path.is_symlink()]
                text = (place / "Makefile").read_text("utf-8", "surrogateescape")
                waiting += [Path(name) for name in _INCLUDE.findall(text)]
    return found


def _next(link: Path) -> Path:
    """Return what a link names, which may be a link."""
    return Path(os.path.normpath(link.parent / link.readlink()))

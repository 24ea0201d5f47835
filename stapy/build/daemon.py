"""The daemon that containers are asked of: docker's or podman's, found by its socket."""

from __future__ import annotations

import importlib
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from stapy.paths import exists
from stapy.run.ground.packages import way_to_extra
from stapy.trust import why_untrusted

NOBODY = "65534:65534"


class ContainerError(Exception):
    """There is nothing to build in; ``hint`` is what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def places(root: Path = Path("/")) -> list[str]:
    """List where a daemon may listen, the one to be asked first in front.

    What the user names stands alone: DOCKER_HOST, or podman's CONTAINER_HOST.  Else docker's
    socket comes before podman's, the machine's before this user's own.
    """
    if variable := _named_by():
        return [os.environ[variable]]
    found = [root / "var/run/docker.sock"]
    if os.getuid() == 0:
        found.append(root / "run/podman/podman.sock")
    else:
        own = Path(os.environ.get("XDG_RUNTIME_DIR") or root / f"run/user/{os.getuid()}")
        found += [own / "docker.sock", own / "podman/podman.sock"]
    return [f"unix://{path}" for path in found]


def _named_by() -> str:
    """Return the variable by which the user names the place, "" when none does."""
    return next((one for one in ("DOCKER_HOST", "CONTAINER_HOST") if os.environ.get(one)), "")


class Docker:
    """The SDK with the first daemon that answers, docker's or podman's; ``place`` is where."""

    def __init__(self) -> None:
        # The SDK takes a quarter of a second to import, so nobody else may pay for it.
        try:
            self.sdk: Any = importlib.import_module("docker")
            self.types: Any = importlib.import_module("docker.types")
        except ImportError as error:  # a folder of that name, as in our checkout, is no SDK
            way = way_to_extra("docker")
            raise ContainerError("the Python package docker is missing", way) from error
        self.place = ""
        self.client: Any = self._connect()

    def _connect(self) -> Any:
        """Find a daemon; ContainerError of the one that is there, or was asked first."""
        failures = []
        for place in places():
            why = _unusable(place)
            if not why:
                try:
                    client = self.sdk.from_env(environment={**os.environ, "DOCKER_HOST": place})
                    client.ping()
                except (self.sdk.errors.DockerException, OSError, ValueError) as error:
                    why = _silence(place, short(error))  # also of a name that is no place
                else:
                    self.place = place
                    return client
            failures.append((place, why))
        there = [(place, why) for place, why in failures if not why.startswith("there is no")]
        raise _no_answer(*(there or failures)[0], [place for place, _ in failures])

    @property
    def name(self) -> str:
        """The name of the program that the daemon belongs to, as far as its place tells."""
        return _program(self.place)

    def image(self, name: str) -> Any | None:
        """Find an image that is here, None when it is not; nothing is fetched."""
        try:
            return self.client.images.get(name)
        except self.sdk.errors.ImageNotFound:
            return None
        except self.sdk.errors.DockerException as error:
            raise self.failed(error) from error

    def user(self, readable: list[Path]) -> str:
        """Choose who programs run as, ``uid:gid``; root inside is ourselves if the daemon is ours.

        For root it is nobody, if all may read what nobody has to.
        """
        if os.getuid() == 0:
            return NOBODY if _for_all(readable) else "0:0"
        try:
            options = self.client.info().get("SecurityOptions") or ()
        except self.sdk.errors.DockerException as error:
            raise self.failed(error) from error
        rootless = any("rootless" in option for option in options)
        return "0:0" if rootless else f"{os.getuid()}:{os.getgid()}"

    def failed(self, error: Exception) -> ContainerError:
        """Make the error of what the daemon refused."""
        return ContainerError(
            f"{self.name}: {short(error)}",
            f"see whether `{self.name} run` works with this image",
        )


def _program(place: str) -> str:
    return "podman" if "podman" in place else "docker"


def _path(place: str) -> str:
    """Return the path of a socket, "" for another kind of place."""
    return place.partition("://")[2] if place.startswith("unix:") else ""


def _unusable(place: str) -> str:
    """Say why a place is not even asked, "" when it is."""
    path = _path(place)
    if path and not exists(Path(path)):
        return f"there is no socket {path}"
    if os.environ.get("DOCKER_HOST"):
        return ""
    if os.environ.get("CONTAINER_HOST"):
        if place.startswith(("unix://", "tcp://")):
            return ""
        return f"CONTAINER_HOST={place} is no unix:// or tcp://, and files are shown by their paths"
    return _somebody_elses(Path(path))


def _somebody_elses(socket: Path) -> str:
    """Say why a socket that nobody has named could be another user's, "" when it cannot.

    What its daemon makes is loaded.  Others may talk to it, as the group docker may: its own mode
    does not count, but nobody else may put one in its place.
    """
    try:
        real = socket.resolve()
        owner = real.stat().st_uid
    except (OSError, RuntimeError) as error:  # the latter of links in a circle
        return f"{socket} cannot be looked at: {getattr(error, 'strerror', None) or error}"
    if owner not in (0, os.geteuid()):
        return f"{socket} is somebody else's"
    why = why_untrusted(socket.parent) or why_untrusted(real.parent)
    return f"{socket} is not asked: {why}" if why else ""


def _silence(place: str, said: str) -> str:
    """Say in our words why nobody answers."""
    where = _path(place) or place
    if "Errno 13" in said or "PermissionError" in said:
        return f"{where} is not for this user"
    if "Errno 111" in said or "ConnectionRefusedError" in said:
        return f"nobody listens at {where}"
    return said


def _no_answer(place: str, why: str, asked: list[str]) -> ContainerError:
    """Make the error of a daemon that does not answer, and say where others were looked for."""
    name = _program(place)
    others = [_path(other) for other in asked if other != place]
    if others and why.startswith("there is no"):
        why += f", nor {' or '.join(others)}"
    if why.endswith("is not for this user") and name == "docker":
        hint = "run stapy as root, or as one of the group docker"
    elif variable := _named_by():
        hint = (
            f"{variable} names this place, and no other is asked: start the daemon that shall "
            f"listen there, name another socket, or unset {variable}"
        )
    else:
        start = "systemctl start docker" if shutil.which("dockerd") else "apt-get install docker.io"
        if shutil.which("podman") and not shutil.which("dockerd"):
            own = "" if os.getuid() == 0 else "--user "
            start = f"systemctl {own}start podman.socket"
        hint = (
            f"{start}, or set DOCKER_HOST or CONTAINER_HOST to a socket; docker/daemon in stapy's "
            "sources starts a private dockerd"
        )
    return ContainerError(f"{name} does not answer: {why}", hint)


def _for_all(paths: list[Path]) -> bool:
    """Tell whether all users may read some files and folders, and what we make."""
    mask = os.umask(0o077)
    os.umask(mask)
    if mask & 0o055:
        return False
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            return False
        needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
        if mode & needed != needed:
            return False
    return True


def short(error: Exception) -> str:
    """Return the first line of what a daemon says."""
    lines = str(getattr(error, "explanation", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

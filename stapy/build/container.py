"""kbuild inside a container: for kernels whose compiler or headers this machine does not have.

``STAPY_CONTAINER=IMAGE`` asks for it.  The image needs make, the kernel's
compiler and ``/lib/modules/RELEASE/build``; the sources come in through a
volume, and there is no network inside.  Docker, or podman's socket by
``DOCKER_HOST``.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from stapy.build.commands import make_command
from stapy.build.process import Result

VARIABLE = "STAPY_CONTAINER"


class ContainerError(Exception):
    """No build took place; ``hint`` is what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


class Container:
    """An image in which modules of one release can be built."""

    def __init__(self, image: str, release: str) -> None:
        """Find the image; `ContainerError` when there is none, or no docker."""
        self.release = release
        # The SDK takes a quarter of a second to import, so nobody else may pay for it.
        try:
            self._docker: Any = importlib.import_module("docker")
        except ImportError as error:
            raise ContainerError(
                "the Python package docker is missing", "pip install 'stapy[docker]'"
            ) from error
        try:
            self._client = self._docker.from_env()
            self._image = self._client.images.get(image)
        except self._docker.errors.ImageNotFound as error:
            raise ContainerError(
                f"there is no image '{image}'",
                f"make one with make, a compiler and /lib/modules/{release}/build",
            ) from error
        except self._docker.errors.DockerException as error:
            raise ContainerError(
                f"docker does not answer: {_short(error)}",
                "start the docker service, or name podman's socket in DOCKER_HOST",
            ) from error

    @property
    def identity(self) -> str:
        """Names the image's content."""
        return str(self._image.id)

    @property
    def build_dir(self) -> Path:
        """The kernel's build tree in there."""
        return Path(f"/lib/modules/{self.release}/build")

    def make(self, folder: Path, words: list[str]) -> Result:
        """Run kbuild on ``folder``, which has the same path inside."""
        width = min(len(os.sched_getaffinity(0)), 4)
        command = make_command(self.build_dir, folder, f"-j{width}", *words)
        running: Any = None
        try:
            running = self._client.containers.run(
                self._image,
                command,
                detach=True,
                network_mode="none",
                user=f"{os.getuid()}:{os.getgid()}",
                environment={"LC_ALL": "C"},
                volumes={str(folder): {"bind": str(folder), "mode": "rw"}},
                working_dir=str(folder),
            )
            status = int(running.wait()["StatusCode"])
            log = running.logs().decode("utf-8", "replace")
        except self._docker.errors.DockerException as error:
            raise ContainerError(
                f"the container did not run: {_short(error)}",
                "see whether `docker run` works with this image",
            ) from error
        finally:
            if running is not None:
                running.remove(force=True)
        return Result(command, status, log, 0.0)


def _short(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error).splitlines()[0]

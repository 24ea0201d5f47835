"""Images to build in: which one a kernel needs, and how one is made ahead.

``docker/suites.toml`` has the compilers of Debian's suites.  An image is looked for
by its name and never fetched or made, except by ``--prepare``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.container import Container, topmost, tree_of
from stapy.build.daemon import ContainerError, Docker, short
from stapy.build.kit import KIND as KIT
from stapy.build.process import run
from stapy.build.runtime_objects import KIND as UNIT
from stapy.build.tools import Tools
from stapy.paths import cache_dir, data_dir, exists
from stapy.record import Record
from stapy.temporary import TemporaryFolder

if TYPE_CHECKING:
    from typing import BinaryIO

    from stapy.kernel import Kernel

_GCC = re.compile(r"(?:.*-)?gcc-(\d+)\Z")
_DEBIAN = "debian:"


class Suite(Record):
    """A row of ``suites.toml``: versions of gcc, its own kernels' first; MB to fetch."""

    name: str
    gcc: list[str]
    packages: list[str]
    download: int


class ImageChoice(Record):
    """An image by its name; with a suite it is one that ``--prepare`` can make.

    ``reason`` says why it was picked, "" when the user named it.
    """

    image: str
    suite: Suite | None = None
    gcc: str = ""
    reason: str = ""


def suites() -> list[Suite]:
    """List Debian's suites in the order of the file."""
    text = (data_dir("docker") / "suites.toml").read_text("utf-8")
    return [
        Suite(name, row["gcc"], row["packages"], row["download"])
        for name, row in tomllib.loads(text).items()
    ]


def choose(wanted: str, kernel: Kernel, *, may_be_another: bool = True) -> ImageChoice:
    """Choose the image that ``--build-in`` means for a kernel, or raise `ContainerError`.

    ``may_be_another``: a user may do with a module for another kernel.
    """
    if kernel.compiler.startswith("clang"):
        raise ContainerError(
            f"kernel {kernel.release} is built with {kernel.compiler}, and containers have gcc",
            f"without --build-in, {kernel.compiler} of this machine is taken",
        )
    if wanted == "auto":
        return _by_compiler(kernel, may_be_another)
    if not wanted.startswith(_DEBIAN):
        return ImageChoice(wanted)
    known = {suite.name: suite for suite in suites()}
    suite = known.get(wanted.removeprefix(_DEBIAN))
    if suite is None:
        raise ContainerError(
            f"there is no suite '{wanted}'", f"one of {_names(known)}, or an image"
        )
    gcc = _version(kernel) or suite.gcc[0]
    if gcc not in suite.gcc:
        raise ContainerError(
            f"Debian {suite.name} has gcc {', '.join(suite.gcc)}, "
            f"kernel {kernel.release} is built with gcc {gcc}",
            "--build-in=auto picks the suite",
        )
    return _image_of(suite, gcc)


def _by_compiler(kernel: Kernel, may_be_another: bool) -> ImageChoice:
    """Choose what ``auto`` means: a suite that has the kernel's compiler."""
    gcc = _version(kernel)
    found = [suite for suite in suites() if gcc in suite.gcc]
    # A suite whose own kernels are built with it has what else they need.
    found.sort(key=lambda suite: suite.gcc[0] != gcc)
    if not found:
        with_what = kernel.compiler or "a compiler that its configuration does not name"
        hint = "--build-in=IMAGE names an image that has it and make"
        if may_be_another and kernel.is_running:
            hint = f"-r RELEASE names another kernel than the one that runs here; {hint}"
        raise ContainerError(
            f"kernel {kernel.release} is built with {with_what}, which no suite of Debian has", hint
        )
    choice = _image_of(found[0], gcc)
    choice.reason = f"kernel {kernel.release} is built with {kernel.compiler}"
    return choice


def _version(kernel: Kernel) -> str:
    match = _GCC.match(kernel.compiler)
    return match[1] if match else ""


def _image_of(suite: Suite, gcc: str) -> ImageChoice:
    return ImageChoice(f"stapy-build:{suite.name}-gcc{gcc}", suite, gcc)


def _names(known: dict[str, Suite]) -> str:
    return ", ".join(_DEBIAN + name for name in known)


# --- building in one ----------------------------------------------------------


def open_container(
    choice: ImageChoice, kernel: Kernel, runtime: Path, folder: Path, docker: Docker | None = None
) -> Tools:
    """Make, but do not start, a container of that image for this kernel; fetch nothing."""
    docker = docker or Docker()
    image = docker.image(choice.image)
    if image is None:
        raise ContainerError(f"there is no image '{choice.image}' here", _way_out(choice, kernel))
    readable = [runtime, *_cached(), *tree_of(kernel)]
    return Container(docker, image, choice.image, topmost(readable), [folder])


def _cached() -> list[Path]:
    """List what programs need of the cache: kits and objects, but no script, module or answer."""
    found = [cache_dir() / kind for kind in (KIT, UNIT)]
    for path in found:
        with suppress(OSError):  # no cache: they are made in the session's folder
            path.mkdir(parents=True, exist_ok=True)
    return [path for path in found if exists(path)]


def _way_out(choice: ImageChoice, kernel: Kernel) -> str:
    if choice.image in [suite.name for suite in suites()]:
        return f"--build-in={_DEBIAN}{choice.image} is the suite of Debian"
    if choice.suite is None:
        return f"docker pull {choice.image}"
    return (
        f"stapy --build-in={_DEBIAN}{choice.suite.name} -r {kernel.release} --prepare makes it; "
        f"that fetches about {choice.suite.download} MB"
    )


# --- making one ahead ---------------------------------------------------------


def prepare(choice: ImageChoice, say: Callable[[str], None], docker: Docker | None = None) -> bool:
    """Make the image, false when it was here; ``say`` is told what is fetched before it is."""
    docker = docker or Docker()
    if docker.image(choice.image) is not None:
        return False
    if choice.suite is None:
        say(f"fetching the image {choice.image} from its registry")
        _pull(docker, choice.image)
        return True
    suite = choice.suite
    say(f"making {choice.image}; this fetches about {suite.download} MB")
    base = _base(docker, suite, say)
    say(f"installing gcc-{choice.gcc} and make on {base}")
    arguments = {"BASE": base, "GCC": choice.gcc, "PACKAGES": " ".join(suite.packages)}
    try:
        docker.client.images.build(
            path=str(data_dir("docker")),
            tag=choice.image,
            buildargs=arguments,
            network_mode="host",
            rm=True,
            forcerm=True,
        )
    except docker.sdk.errors.BuildError as error:
        raise ContainerError(
            f"the image could not be made: {_last_words(error)}", f"see {data_dir('docker')}"
        ) from error
    except docker.sdk.errors.DockerException as error:
        raise docker.failed(error) from error
    return True


def _base(docker: Docker, suite: Suite, say: Callable[[str], None]) -> str:
    """Find the image of a bare suite: one that is here, the registry's, one made of packages."""
    ours = f"stapy-base:{suite.name}"
    for name in (ours, _DEBIAN + suite.name):
        if docker.image(name) is not None:
            return name
    try:
        _pull(docker, _DEBIAN + suite.name)
    except ContainerError as error:
        say(f"{error}: making {ours} of packages")
    else:
        return _DEBIAN + suite.name
    return _made_of_packages(docker, suite, ours)


def _pull(docker: Docker, name: str) -> None:
    repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    try:
        docker.client.images.pull(repository, tag=tag or "latest")
    except docker.sdk.errors.DockerException as error:
        raise ContainerError(
            f"no registry gave {name} ({short(error)})", f"docker pull {name}"
        ) from error


def _made_of_packages(docker: Docker, suite: Suite, name: str) -> str:

    script = data_dir("docker") / "base"
    with TemporaryFolder("base") as folder:
        archive = folder / "base.tar"
        done = run(["/bin/bash", str(script), suite.name, str(archive)])
        if done.status:
            last = done.output.strip().splitlines()[-1:] or ["it printed nothing"]
            raise ContainerError(f"no base image could be made: {last[0]}", f"see {script.parent}")
        repository, _, tag = name.partition(":")
        try:
            with archive.open("rb") as file:
                _import(docker, file, repository, tag)
        except docker.sdk.errors.DockerException as error:
            raise docker.failed(error) from error
    return name


def _import(docker: Docker, file: BinaryIO, repository: str, tag: str) -> None:
    """Import an image, and name it: podman does not heed the name that it is told."""

    text = docker.client.api.import_image_from_data(file.read(), repository, tag)
    found = re.findall(r"sha256:[0-9a-f]{64}", text if isinstance(text, str) else json.dumps(text))
    if found and docker.image(f"{repository}:{tag}") is None:
        docker.client.images.get(found[-1]).tag(repository, tag)


def _last_words(error: Exception) -> str:
    lines = [
        line.strip()
        for row in getattr(error, "build_log", ()) or ()
        for line in str(row.get("stream", "")).splitlines()
        if line.startswith("E: ")
    ]
    return lines[-1] if lines else short(error)

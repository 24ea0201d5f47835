"""Building in a container: a daemon that writes down what it is told, below the SDK's types."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RLIM_INFINITY
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.build import images
from stapy.build.container import Container, topmost, tree_of
from stapy.build.daemon import ContainerError, Docker
from stapy.build.images import choose, open_container, prepare, suites
from stapy.build.kit import kit_key
from stapy.build.owner import labels
from stapy.build.tools import HERE
from stapy.cli import main
from tests.build import small
from tests.build.conftest import installed

docker = pytest.importorskip("docker.errors", reason="the Python package docker is not installed")
sdk_package = pytest.importorskip("docker")


class Daemon(sdk_package.APIClient):  # type: ignore[misc]
    """What the SDK asks of a daemon; ``here`` are names of images, ``answer`` what programs say."""

    def __init__(self, *here: str, answer: tuple[int, bytes] = (0, b"")) -> None:
        super().__init__("unix:///nosuch", version="1.41")
        self.here = {name: f"sha256:{number:064x}" for number, name in enumerate(here, 1)}
        self.answer = answer
        self.registry: set[str] = set()
        self.created: list[dict[str, Any]] = []
        self.programs: list[tuple[list[str], dict[str, Any]]] = []
        self.log: list[str] = []
        self.broken = ""
        self.rootless = False
        self.left: dict[str, dict[str, str]] = {}  # containers that never started: their labels
        self.work: Callable[[list[str]], object] = lambda command: None  # what programs do

    def ping(self) -> bool:
        return True

    def info(self) -> dict[str, Any]:
        if self.broken == "info":
            raise docker.APIError("500", explanation="it is going down")
        return {"SecurityOptions": ["name=seccomp", *(["name=rootless"] if self.rootless else [])]}

    def inspect_image(self, name: str) -> dict[str, Any]:
        found = self.here.get(name, name if name in self.here.values() else None)
        if found is None:
            raise docker.ImageNotFound("404", explanation=f"No such image: {name}")
        return {"Id": found, "RepoTags": [name]}

    def pull(self, repository: str, tag: str, **_: Any) -> Any:
        self.log.append(f"pull {repository}:{tag}")
        if f"{repository}:{tag}" not in self.registry:
            raise docker.APIError("500", explanation="no such host\nand more")
        self.here[f"{repository}:{tag}"] = "sha256:" + "9" * 64
        return iter(())

    def build(self, **options: Any) -> Any:
        self.log.append(f"build {options['buildargs']} as {options['tag']}")
        if self.broken == "build":
            row = {"stream": "Reading\nE: Unable to locate package gcc-99\n"}
            return self.lines(row, {"error": "returned a non-zero code: 100"})
        self.here[options["tag"]] = "sha256:" + "8" * 64
        self.here["8" * 12] = self.here[options["tag"]]
        return self.lines({"stream": "Successfully built " + "8" * 12})

    def lines(self, *rows: dict[str, str]) -> Any:
        return iter(json.dumps(row).encode() for row in rows)

    def import_image_from_data(self, data: bytes, repository: str, tag: str) -> str:
        self.log.append(f"import {data.decode()} as {repository}:{tag}")
        self.here[f"{repository}:{tag}"] = "sha256:" + "7" * 64
        return '{"status":"sha256:' + "7" * 64 + '"}'

    def create_container_from_config(self, config: dict[str, Any], *_: Any) -> Any:
        if self.broken == "create":
            raise docker.APIError("500", explanation="bind source path does not exist: /x")
        self.created.append(dict(config))
        return {"Id": "c1"}

    def inspect_container(self, name: str) -> dict[str, Any]:
        return {"Id": name, "Config": {"Labels": self.left.get(name, {})}}

    def containers(self, filters: dict[str, Any], **_: Any) -> list[dict[str, str]]:
        assert filters["status"] == "created"
        for key, _, value in (word.partition("=") for word in filters["label"]):
            assert key in labels() and (not value or value == labels()[key])
        return [{"Id": name} for name in self.left]

    def attach_socket(self, name: str, params: dict[str, int], **_: Any) -> Any:
        self.log.append("attached")
        return self

    def close(self) -> None:
        self.log.append("closed")

    def start(self, name: str, **_: Any) -> None:
        self.log.append("started")

    def remove_container(self, name: str, **options: Any) -> None:
        self.log.append(f"removed {name} {options['force']}")

    def exec_create(self, name: str, command: list[str], **options: Any) -> dict[str, str]:
        self.programs.append((command, options))
        return {"Id": "e1"}

    def exec_start(self, name: str, **_: Any) -> bytes:
        self.work(self.programs[-1][0])
        return self.answer[1]

    def exec_inspect(self, name: str) -> dict[str, int]:
        return {"ExitCode": self.answer[0]}


def sdk(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Docker with the SDK's own client, images and containers above that daemon."""
    client = sdk_package.DockerClient(base_url="unix:///nosuch", version="1.41")
    client.api = daemon
    monkeypatch.setenv("DOCKER_HOST", "tcp://nosuch:1")
    monkeypatch.setattr(sdk_package, "from_env", lambda **_: client)
    return Docker()


@pytest.fixture
def kernel() -> Any:
    return SimpleNamespace(
        is_running=False,
        root=Path("/"),
        release="6.12.1+deb13-amd64",
        arch="x86_64",
        build_dir=None,
        image=None,
        compiler="x86_64-linux-gnu-gcc-14",
    )


# --- which image ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "compiler", "image", "reason"),
    [
        ("auto", "gcc-10", "stapy-build:bullseye-gcc10", "gcc-10"),
        ("auto", "gcc-12", "stapy-build:bookworm-gcc12", "gcc-12"),
        ("auto", "gcc-13", "stapy-build:trixie-gcc13", "gcc-13"),
        ("auto", "x86_64-linux-gnu-gcc-14", "stapy-build:trixie-gcc14", "x86_64-linux-gnu-gcc-14"),
        ("debian:trixie", "gcc-12", "stapy-build:trixie-gcc12", ""),
        ("debian:trixie", "", "stapy-build:trixie-gcc14", ""),
        ("host:5000/mine@sha256:12", "gcc-12", "host:5000/mine@sha256:12", ""),
    ],
)
def test_choice(kernel: Any, wanted: str, compiler: str, image: str, reason: str) -> None:
    kernel.compiler = compiler
    choice = choose(wanted, kernel)
    assert choice.image == image
    assert choice.reason == (f"kernel {kernel.release} is built with {reason}" if reason else "")


@pytest.mark.parametrize(
    ("wanted", "compiler", "reason", "hint"),
    [
        ("auto", "icc", "is built with icc, which no suite", "--build-in=IMAGE"),
        ("auto", "", "configuration does not name", "--build-in=IMAGE"),
        ("debian:bookworm", "gcc-14", "Debian bookworm has gcc 12, 11, kernel", "--build-in=auto"),
        ("debian:trixy", "gcc-14", "no suite 'debian:trixy'", "debian:trixie"),
    ],
)
def test_no_choice(kernel: Any, wanted: str, compiler: str, reason: str, hint: str) -> None:
    kernel.compiler = compiler
    with pytest.raises(ContainerError) as caught:
        choose(wanted, kernel)
    assert reason in str(caught.value)
    assert hint in caught.value.hint


def test_suites_are_complete() -> None:
    assert {suite.name for suite in suites()} >= {"bullseye", "bookworm", "trixie", "sid"}
    assert all(suite.gcc and suite.packages and suite.download > 50 for suite in suites())


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("auto", "stapy --build-in=debian:trixie -r 6.12.1+deb13-amd64 --prepare makes it; "
         "that fetches about 95 MB"),
        ("mine:1", "docker pull mine:1"),
        ("trixie", "--build-in=debian:trixie is the suite of Debian"),
    ],
)  # fmt: skip
def test_an_image_that_is_not_here_is_not_fetched(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wanted: str, hint: str
) -> None:
    daemon = Daemon()
    daemon.registry = {"debian:trixie", "mine:1"}
    with pytest.raises(ContainerError) as caught:
        open_container(choose(wanted, kernel), kernel, tmp_path, tmp_path, sdk(daemon, monkeypatch))
    assert "there is no image" in str(caught.value)
    assert caught.value.hint == hint
    assert not daemon.log


# --- making one -------------------------------------------------------------------


def test_prepare_takes_the_base_from_the_registry(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, said = Daemon(), []
    daemon.registry = {"debian:trixie"}
    assert prepare(choose("auto", kernel), said.append, sdk(daemon, monkeypatch))
    assert "about 95 MB" in said[0]
    arguments = {"BASE": "debian:trixie", "GCC": "14", "PACKAGES": "libelf1t64"}
    assert daemon.log == [
        "pull debian:trixie",
        f"build {arguments} as stapy-build:trixie-gcc14",
    ]
    assert not prepare(choose("auto", kernel), said.append, sdk(daemon, monkeypatch))


def test_prepare_makes_the_base_of_packages(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from stapy.build.process import Result

    def script(argv: list[str]) -> Result:
        assert argv[1].endswith("docker/base")
        Path(argv[3]).write_text(argv[2])
        return Result(argv, 0, "", 0.0)

    monkeypatch.setattr("stapy.build.images.run", script)
    daemon, said = Daemon(), []
    assert prepare(choose("auto", kernel), said.append, sdk(daemon, monkeypatch))
    assert daemon.log[:2] == ["pull debian:trixie", "import trixie as stapy-base:trixie"]
    assert any("no registry gave debian:trixie (no such host): making" in text for text in said)


def test_prepare_says_why_packages_cannot_be_had(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = Daemon("stapy-base:trixie")
    daemon.broken = "build"
    with pytest.raises(ContainerError, match="E: Unable to locate package gcc-99"):
        prepare(choose("auto", kernel), lambda _: None, sdk(daemon, monkeypatch))


# --- in the container ----------------------------------------------------------------


def opened(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Container:
    client = sdk(daemon, monkeypatch)
    image = client.image("mine")
    for name in ("tree", "work"):
        (tmp_path / name).mkdir()
    return Container(client, image, "mine", [tmp_path / "tree"], [tmp_path / "work"])


def copy_of(daemon: Daemon, folder: Path) -> Path:
    """Find what the container has in place of a folder of ours."""
    rows = daemon.created[0]["HostConfig"]["Mounts"]
    return Path(next(row["Source"] for row in rows if row["Target"] == str(folder)))


def test_one_container_for_all_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = Daemon("mine", answer=(2, b"no\xff\n"))
    tools = opened(daemon, monkeypatch, tmp_path)
    assert not daemon.created
    done = tools.run(["gcc-14", "-c", "x.c"], {"ARCH": "x86"})
    assert (done.status, done.output) == (2, "no\ufffd\n")
    assert [r.status for r in tools.run_many([["a"], ["b"]], {}, 2)] == [2, 2]
    (config,) = daemon.created
    assert (config["OpenStdin"], config["StdinOnce"]) == (True, True)
    assert config["HostConfig"]["AutoRemove"]
    with tools.folder("x") as folder:
        assert tools.scratch() in folder.parents
    command, options = daemon.programs[0]
    assert command == ["gcc-14", "-c", "x.c"]
    assert options["environment"].items() >= {"LC_ALL": "C", "ARCH": "x86"}.items()
    scratch = tools.scratch()
    tools.close()
    assert daemon.log == ["attached", "started", "removed c1 True", "closed"]
    assert not scratch.exists()


def test_a_container_may_do_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = Daemon("mine")
    tools = opened(daemon, monkeypatch, tmp_path)
    tools.run(["gcc-14"])
    host = daemon.created[0]["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"] and "CapAdd" not in host and "Privileged" not in host
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"]
    assert host["Memory"] == host["MemorySwap"] == 4 << 30 and host["PidsLimit"] == 256
    assert not host.get("Ulimits")
    writable = [row for row in host["Mounts"] if not row["ReadOnly"]]
    ours = {str(tmp_path / "work"), str(tools.scratch())}
    assert {row["Target"] for row in writable} - {"/root"} == ours
    assert not ours & {row["Source"] for row in writable}  # copies
    read = {row["Source"]: row["Target"] for row in host["Mounts"] if row["ReadOnly"]}
    assert read == {str(tmp_path / "tree"): str(tmp_path / "tree")}
    tools.close()


@pytest.mark.parametrize(("hard", "told"), [(77, 77), (1 << 20, 4096), (RLIM_INFINITY, 4096)])
def test_podman_is_told_the_limits_that_it_may_set(
    hard: int, told: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would raise them, which it may not in a container or without root."""
    daemon = Daemon("mine")
    tools = opened(daemon, monkeypatch, tmp_path)
    tools.docker.place = "unix:///run/podman/podman.sock"
    monkeypatch.setattr("stapy.build.container.resource.getrlimit", lambda number: (5, hard))
    tools.run(["gcc-14"])
    found = daemon.created[0]["HostConfig"]["Ulimits"]
    assert [limit["Name"] for limit in found] == ["nofile", "nproc"]
    assert all(limit["Soft"] == limit["Hard"] == told for limit in found)
    tools.close()


def test_a_kernel_of_clang_has_no_container(kernel: Any) -> None:
    kernel.compiler = "clang-16"
    for wanted in ("auto", "debian:bookworm", "mine"):
        with pytest.raises(ContainerError, match="clang-16, and containers have gcc") as caught:
            choose(wanted, kernel)
        assert "clang-16 of this machine" in caught.value.hint


def test_of_the_cache_it_sees_kits_and_objects_only(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache, runtime = tmp_path / "cache/stapy", tmp_path / "runtime"
    for folder in (cache / "module", cache / "kernels/lib/modules", runtime):
        folder.mkdir(parents=True)
    kernel.root = cache / "kernels"
    tools = open_container(
        choose("mine", kernel), kernel, runtime, tmp_path, sdk(Daemon("mine"), monkeypatch)
    )
    assert isinstance(tools, Container)
    assert set(tools.readable) == {runtime, cache / "kit", cache / "unit"}


def test_files_go_there_and_come_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = Daemon("mine")
    tools = opened(daemon, monkeypatch, tmp_path)
    work = tmp_path / "work"

    def compile_it(command: list[str]) -> None:
        there = copy_of(daemon, work)
        (there / "build/x.o").write_text((there / "build/x.c").read_text() + " compiled")

    daemon.work = compile_it
    tools.started()
    (work / "build").mkdir()
    for text in ("one", "two"):
        (work / "build/x.c").write_text(text)
        tools.run(["cc"])
        assert (work / "build/x.o").read_text() == f"{text} compiled"
    tools.close()


@pytest.mark.parametrize("what", ["link", "folder", "pipe", "flood"])
def test_what_comes_out_is_plain_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    """Whoever sits in the image cannot make us read or write elsewhere, or wait."""
    daemon = Daemon("mine")
    tools = opened(daemon, monkeypatch, tmp_path)
    work, secret = tmp_path / "work", tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    monkeypatch.setattr("stapy.build.exchange.MOST_BYTES", 1 << 20)

    def plant(command: list[str]) -> None:
        there = copy_of(daemon, work)
        if what == "link":
            (there / "x.o").symlink_to(secret / "key")
        elif what == "folder":
            (there / "build").rmdir()
            (there / "build").symlink_to(secret)
        elif what == "pipe":
            os.mkfifo(there / "x.o")
        else:
            with (there / "x.o").open("wb") as file:
                file.truncate(1 << 40)

    daemon.work = plant
    tools.started()
    (work / "build").mkdir()
    with pytest.raises(ContainerError, match="what came out of mine is not used"):
        tools.run(["cc"])
    assert [path.name for path in work.iterdir()] == ["build"]
    # Nor is anything written there.
    daemon.work = lambda command: None
    (work / "build/key").write_text("ours")
    with pytest.raises(ContainerError):
        tools.run(["cc"])
    assert [(path.name, path.read_text()) for path in secret.iterdir()] == [("key", "secret")]
    tools.close()


def test_what_is_given_never_goes_through_a_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    daemon = Daemon("mine")
    tools = opened(daemon, monkeypatch, tmp_path)
    work, secret = tmp_path / "work", tmp_path / "secret"
    secret.write_text("secret")
    tools.started()
    (copy_of(daemon, work) / "x.c").symlink_to(secret)
    (work / "x.c").write_text("ours")
    tools.run(["cc"])
    assert secret.read_text() == "secret"
    assert (work / "x.c").read_text() == "ours"
    tools.close()


def test_files_of_a_folder_that_the_user_named_stay_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    daemon = Daemon("mine")
    client = sdk(daemon, monkeypatch)
    (tmp_path / "letter").write_text("private")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # with the copies in it
    time.sleep(0.02)  # a tick of the clock of files
    tools = Container(client, client.image("mine"), "mine", [], [tmp_path])
    tools.started()
    (tmp_path / "x.c").write_text("ours")
    tools.run(["cc"])
    assert [path.name for path in copy_of(daemon, tmp_path).rglob("*") if path.is_file()] == ["x.c"]
    tools.close()


def test_what_killed_commands_left_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """But nothing of other users of the daemon, whose processes nobody here sees."""
    daemon, own = Daemon("mine"), labels()
    daemon.left = {
        "dead": {**own, "stapy.process": "4194999 1"},
        "number taken again": {**own, "stapy.process": f"{os.getpid()} 1"},
        "alive": own,
        "of another machine": {"stapy.owner": "f" * 32, "stapy.process": "4194999 1"},
        "of nobody": {"stapy.process": "4194999"},
    }
    tools = opened(daemon, monkeypatch, tmp_path)
    tools.run(["true"])
    assert daemon.created[0]["Labels"] == own
    removed = [row for row in daemon.log if "removed" in row]
    assert removed == ["removed dead True", "removed number taken again True"]
    tools.close()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((1, b"gcc: fatal error: Killed signal terminated program cc1"), "4096 MB of memory"),
        ((137, b""), "4096 MB of memory"),
        ((2, b"make: fork: Resource temporarily unavailable"), "256 processes"),
    ],
)
def test_limits_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: tuple[int, bytes], told: str
) -> None:
    tools = opened(Daemon("mine", answer=answer), monkeypatch, tmp_path)
    with pytest.raises(ContainerError, match=told) as caught:
        tools.run(["gcc"])
    assert "docker/README.md" in caught.value.hint
    tools.close()


def test_a_program_that_the_image_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = 127, b'OCI runtime exec failed: exec: "make": executable file not found in $PATH'
    tools = opened(Daemon("mine", answer=answer), monkeypatch, tmp_path)
    with pytest.raises(FileNotFoundError):
        tools.run(["make"])
    tools.close()


def test_a_container_that_cannot_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = Daemon("mine")
    daemon.broken = "create"
    tools = opened(daemon, monkeypatch, tmp_path)
    tools.begin()  # says nothing yet
    with pytest.raises(ContainerError, match="bind source path does not exist: /x"):
        tools.run(["make"])
    tools.close()


def test_who_programs_run_as(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = Daemon()
    client = sdk(daemon, monkeypatch)
    monkeypatch.setattr("os.getuid", lambda: 0)
    tmp_path.chmod(0o755)
    assert client.user([tmp_path]) == "65534:65534"
    monkeypatch.setattr("os.umask", lambda mask: 0o077)  # what we make nobody could read
    assert client.user([tmp_path]) == "0:0"
    monkeypatch.setattr("os.umask", lambda mask: 0o022)
    tmp_path.chmod(0o700)
    assert client.user([tmp_path]) == "0:0"
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr("os.getgid", lambda: 100)
    assert client.user([tmp_path]) == "1000:100"
    daemon.rootless = True
    assert client.user([tmp_path]) == "0:0"
    daemon.broken = "info"
    with pytest.raises(ContainerError, match="docker: it is going down"):
        client.user([tmp_path])


def test_the_image_is_in_the_keys(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    daemon = Daemon("mine", "other")
    client = sdk(daemon, monkeypatch)
    runtime = small.write_runtime(tmp_path / "runtime")
    places = [HERE, *(Container(client, client.image(n), n, [], []) for n in ("mine", "other"))]
    assert len({kit_key(kernel, runtime, place) for place in places}) == 3
    assert places[1].stamp("/usr/bin/gcc") != places[2].stamp("/usr/bin/gcc")


def test_a_tree_is_where_its_links_lead(kernel: Any, tmp_path: Path) -> None:
    headers, common, helpers = (tmp_path / name for name in ("headers", "common", "helpers"))
    modules = tmp_path / "modules"
    for folder in (headers, common, helpers / "scripts", modules):
        folder.mkdir(parents=True)
    (modules / "build").symlink_to(headers)
    (headers / "scripts").symlink_to(helpers / "scripts")
    (headers / "Makefile").write_text(f"KBUILD_OUTPUT={headers}\ninclude {common}/Makefile\n")
    kernel.build_dir = modules / "build"
    wanted = {modules, headers, common, helpers / "scripts"}
    assert set(tree_of(kernel)) == wanted
    # A link that leads to a link, and a folder that is one.
    (common / "scripts").symlink_to(headers / "scripts")
    (tmp_path / "other").symlink_to(tmp_path / "common")
    (headers / "Makefile").write_text(f"include {tmp_path}/other/Makefile\n")
    assert set(tree_of(kernel)) == wanted | {tmp_path}
    assert topmost([headers, tmp_path / "headers/a", common]) == [common, headers]


# --- no daemon, no SDK -----------------------------------------------------------------


def test_no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nosuch")
    with pytest.raises(ContainerError, match="docker does not answer: ") as caught:
        Docker()
    assert "DOCKER_HOST" in caught.value.hint
    assert str(caught.value) == f"docker does not answer: there is no socket {tmp_path}/nosuch"
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind(str(tmp_path / "nosuch"))
        with pytest.raises(ContainerError, match="nobody listens at") as caught:
            Docker()


def test_no_compiler_for_the_running_kernel(kernel: Any) -> None:
    """Another kernel is what --build-in is for, and -r names it."""
    kernel.compiler = "gcc"
    kernel.is_running = True
    with pytest.raises(ContainerError) as caught:
        choose("auto", kernel)
    assert caught.value.hint.startswith("-r RELEASE")
    with pytest.raises(ContainerError) as caught:
        choose("auto", kernel, may_be_another=False)  # it is that of another host
    assert caught.value.hint.startswith("--build-in=IMAGE")


def test_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(ContainerError) as caught:
        Docker()
    assert caught.value.hint == f"{sys.executable} -m pip install 'stapy[docker]'"


def test_a_folder_of_that_name_is_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore our checkout's folder ``docker``, in which the command may run."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "docker"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(Path(images.__file__).parents[2])])
    with pytest.raises(ContainerError, match="package docker is missing"):
        Docker()


def test_a_folder_with_files_of_the_users_is_not_exchanged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--tmpdir=$HOME: the container could put files there that a shell runs."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nosuch")
    monkeypatch.setenv("SYSTEMTAP_DIR", str(tmp_path / "cache"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".bashrc").write_text("mine")
    words = ["-p4", "-r", installed()[0].release, "--build-in=auto", "-e", "probe never {}"]
    for folder, code in (("home", "E0491"), ("fresh", "E0408")):
        assert main([*words, f"--tmpdir={tmp_path}/{folder}"]) == 1
        said = capfd.readouterr().err
        # Nor is it said where the module is built, for it is not.
        assert f"[{code}]" in said and "building in " not in said

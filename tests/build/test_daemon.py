"""Which daemon is asked for containers: docker's, podman's, the one that the user names."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from stapy.build import daemon
from stapy.build.daemon import ContainerError, Docker, places

pytest.importorskip("docker.errors", reason="the Python package docker is not installed")


class Answers(BaseHTTPRequestHandler):
    """What the SDK asks before it takes a daemon for one."""

    def do_GET(self) -> None:
        data = b'{"ApiVersion": "1.41"}' if self.path.endswith("/version") else b"OK"
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self) -> str:
        return "here"

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def listening(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with ThreadingUnixStreamServer(str(path), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def deaf(path: Path) -> Iterator[None]:
    """Leave a socket as a daemon that was killed does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        yield


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have sockets looked for below a folder, by root whom no variable tells anything."""
    for name in ("DOCKER_HOST", "CONTAINER_HOST", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(daemon, "places", lambda: places(tmp_path))
    return tmp_path


DOCKER, PODMAN = "var/run/docker.sock", "run/podman/podman.sock"


@pytest.mark.parametrize(
    ("uid", "variables", "wanted"),
    [
        (0, {}, ["unix:///var/run/docker.sock", "unix:///run/podman/podman.sock"]),
        (7, {}, ["unix:///var/run/docker.sock", "unix:///run/user/7/docker.sock",
                 "unix:///run/user/7/podman/podman.sock"]),
        (7, {"XDG_RUNTIME_DIR": "/x"}, ["unix:///var/run/docker.sock", "unix:///x/docker.sock",
                                        "unix:///x/podman/podman.sock"]),
        (0, {"XDG_RUNTIME_DIR": "/x"}, ["unix:///var/run/docker.sock",
                                        "unix:///run/podman/podman.sock"]),
        (0, {"CONTAINER_HOST": "unix:///p"}, ["unix:///p"]),
        (0, {"CONTAINER_HOST": "unix:///p", "DOCKER_HOST": "unix:///d"}, ["unix:///d"]),
    ],
)  # fmt: skip
def test_places(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    uid: int,
    variables: dict[str, str],
    wanted: list[str],
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: uid)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert places() == wanted


def test_podman_where_docker_is_missing(root: Path) -> None:
    with listening(root / PODMAN):
        found = Docker()
    assert (found.name, found.place) == ("podman", f"unix://{root / PODMAN}")
    assert str(found.failed(OSError("no"))) == "podman: no"


def test_podman_where_docker_is_dead(root: Path) -> None:
    with deaf(root / DOCKER), listening(root / PODMAN):
        assert Docker().name == "podman"


def test_docker_where_both_are(root: Path) -> None:
    with listening(root / DOCKER), listening(root / PODMAN):
        assert Docker().place == f"unix://{root / DOCKER}"


def test_the_named_one_and_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(root / DOCKER), listening(root / "mine/podman.sock"):
        monkeypatch.setenv("CONTAINER_HOST", f"unix://{root}/mine/podman.sock")
        assert Docker().name == "podman"
        monkeypatch.setenv("DOCKER_HOST", f"unix://{root}/gone")
        with pytest.raises(ContainerError, match=f"there is no socket {root}/gone$"):
            Docker()


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("DOCKER_HOST", "unix://{}/gone"),
        ("DOCKER_HOST", "nonsense"),
        ("CONTAINER_HOST", "unix://{}/gone"),
        ("CONTAINER_HOST", "ssh://root@far/run/podman/podman.sock"),
    ],
)
def test_the_hint_is_about_the_variable_that_names_the_place(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str, place: str
) -> None:
    """To start the daemon of this machine would not help: nobody would ask it."""
    monkeypatch.setenv(variable, place.format(root))
    monkeypatch.setattr(daemon, "places", places)
    with listening(root / DOCKER), pytest.raises(ContainerError) as caught:
        Docker()
    assert caught.value.hint.startswith(f"{variable} names this place, and no other is asked: ")
    assert "systemctl" not in caught.value.hint and "apt-get" not in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_not_somebody_elses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has a socket of podman's could hand us any module: only a user who names it is obeyed."""
    with listening(root / PODMAN):
        os.chown(root / PODMAN, 12345, 12345)
        with pytest.raises(ContainerError, match="is somebody else's"):
            Docker()
        monkeypatch.setenv("CONTAINER_HOST", f"unix://{root / PODMAN}")
        assert Docker().name == "podman"


def test_not_where_somebody_else_can_put_one(root: Path) -> None:
    """Its own mode lets a group talk to it, as docker's does; the way to it is what counts."""
    with listening(root / DOCKER):
        (root / DOCKER).chmod(0o666)
        assert Docker().name == "docker"
        (root / "var").chmod(0o777)
        with pytest.raises(ContainerError, match=r"is not asked: all users may write to '.*/var'"):
            Docker()
        (root / "var").chmod(0o755)
        open_to_all = root / "open"
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        (root / DOCKER).rename(open_to_all / "socket")
        (root / DOCKER).symlink_to(open_to_all / "socket")
        with pytest.raises(ContainerError, match=r"all users may write to '.*/open'"):
            Docker()


@pytest.mark.parametrize("name", ["tcp://[::1", "tcp://a:b:c", "foo://x", "nonsense"])
def test_what_is_no_place(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(daemon, "places", places)
    monkeypatch.setenv("DOCKER_HOST", name)
    with pytest.raises(ContainerError, match=r"^docker does not answer: "):
        Docker()


def test_another_machine_has_none_of_our_files(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setenv("CONTAINER_HOST", "ssh://root@far/run/podman/podman.sock")
    monkeypatch.setattr(daemon, "places", places)
    with pytest.raises(ContainerError, match="is no unix:// or tcp://"):
        Docker()


@pytest.mark.parametrize(
    ("programs", "hint"),
    [
        ((), "apt-get install docker.io, or set DOCKER_HOST or CONTAINER_HOST"),
        (("podman",), "systemctl start podman.socket, or"),
        (("dockerd", "podman"), "systemctl start docker, or"),
    ],
)
def test_nobody(
    root: Path, monkeypatch: pytest.MonkeyPatch, programs: tuple[str, ...], hint: str
) -> None:
    monkeypatch.setattr(daemon.shutil, "which", lambda name: name if name in programs else None)
    with pytest.raises(ContainerError) as caught:
        Docker()
    assert str(caught.value) == (
        f"docker does not answer: there is no socket {root / DOCKER}, nor {root / PODMAN}"
    )
    assert caught.value.hint.startswith(hint)
    with deaf(root / PODMAN):
        with pytest.raises(ContainerError) as caught:
            Docker()
        assert str(caught.value) == f"podman does not answer: nobody listens at {root / PODMAN}"

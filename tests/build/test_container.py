"""Building in a container, with a docker SDK that only writes down what it is told."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stapy.build.container import VARIABLE, Container, ContainerError


class DockerError(Exception):
    pass


class ImageNotFound(DockerError):
    pass


class FakeDocker:
    """One image called "known"; a run ends with ``status`` and ``log``."""

    def __init__(self, status: int = 0, log: bytes = b"", broken: str = "") -> None:
        self.status = status
        self.log = log
        self.broken = broken
        self.calls: list[dict[str, Any]] = []
        self.removed = 0
        self.module = ModuleType("docker")
        self.module.errors = SimpleNamespace(  # type: ignore[attr-defined]
            DockerException=DockerError, ImageNotFound=ImageNotFound
        )
        self.module.from_env = self.from_env  # type: ignore[attr-defined]

    def from_env(self) -> Any:
        if self.broken == "daemon":
            raise DockerError("connection refused\nand more")
        return SimpleNamespace(
            images=SimpleNamespace(get=self.image), containers=SimpleNamespace(run=self.run)
        )

    def image(self, name: str) -> Any:
        if name != "known":
            raise ImageNotFound("404")
        return SimpleNamespace(id="sha256:12")

    def run(self, image: Any, command: list[str], **options: Any) -> Any:
        if self.broken == "run":
            raise DockerError("no runc")
        self.calls.append({"image": image.id, "command": command, **options})
        return SimpleNamespace(wait=self.wait, logs=lambda: self.log, remove=self.remove)

    def wait(self) -> dict[str, int]:
        if self.broken == "wait":
            raise DockerError("gone")
        return {"StatusCode": self.status}

    def remove(self, force: bool) -> None:
        assert force
        self.removed += 1


def install(monkeypatch: pytest.MonkeyPatch, fake: FakeDocker) -> FakeDocker:
    monkeypatch.setitem(sys.modules, "docker", fake.module)
    return fake


def test_make(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = install(monkeypatch, FakeDocker(2, b"make: no\xff\n"))
    container = Container("known", "6.1")
    assert container.identity == "sha256:12"
    done = container.make(Path("/tmp/x"), ["A=b"])
    assert (done.status, done.output) == (2, "make: no\ufffd\n")
    (call,) = fake.calls
    assert call["command"][:4] == ["make", "-C", "/lib/modules/6.1/build", "M=/tmp/x"]
    assert call["command"][-2:] == ["A=b", "modules"]
    assert call["network_mode"] == "none"
    assert call["user"] == f"{os.getuid()}:{os.getgid()}"
    assert call["volumes"] == {"/tmp/x": {"bind": "/tmp/x", "mode": "rw"}}
    assert fake.removed == 1


@pytest.mark.parametrize(
    ("image", "broken", "reason", "hint"),
    [
        ("unknown", "", "there is no image 'unknown'", "/lib/modules/6.1/build"),
        ("known", "daemon", "docker does not answer: connection refused", "DOCKER_HOST"),
    ],
)
def test_nothing_to_build_in(
    monkeypatch: pytest.MonkeyPatch, image: str, broken: str, reason: str, hint: str
) -> None:
    install(monkeypatch, FakeDocker(broken=broken))
    with pytest.raises(ContainerError) as caught:
        Container(image, "6.1")
    assert str(caught.value) == reason
    assert hint in caught.value.hint


@pytest.mark.parametrize(("broken", "removed"), [("run", 0), ("wait", 1)])
def test_container_that_fails(monkeypatch: pytest.MonkeyPatch, broken: str, removed: int) -> None:
    fake = install(monkeypatch, FakeDocker(broken=broken))
    with pytest.raises(ContainerError, match="did not run"):
        Container("known", "6.1").make(Path("/tmp/x"), [])
    assert fake.removed == removed


def test_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(ContainerError) as caught:
        Container("known", "6.1")
    assert caught.value.hint == "pip install 'stapy[docker]'"


def test_pass_4_reports_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from stapy.build.driver import build
    from stapy.cache import Cache
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.options import Options
    from tests.build import small

    install(monkeypatch, FakeDocker(status=2, log=b"make: gcc-99: No such file or directory\n"))
    runtime = small.write_runtime(tmp_path / "runtime")
    codes = []
    for image in ("unknown", "known"):
        monkeypatch.setenv(VARIABLE, image)
        diagnostics = Diagnostics(SourceMap())
        module = build(
            small.source(),
            kernel=small.Kernel("6.1", "x86_64", None),
            options=Options(runtime_dir=str(runtime)),
            diagnostics=diagnostics,
            cache=Cache(tmp_path / "cache"),
            folder=tmp_path,
            facts=str,
        )
        assert module is None
        codes += [item.code for item in diagnostics.errors]
    assert codes == ["E0408", "E0402"]

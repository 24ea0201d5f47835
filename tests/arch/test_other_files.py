"""A program's file for another machine than the session's is read by none of the ways to it."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from stapy.arch import ARM64, X86_64, host
from stapy.cache import Cache
from stapy.debuginfo.user.programs import Programs
from stapy.elaborate.assemble.binaries import take_along
from stapy.services import Services
from tests.elaborate.support import FakeDebuginfo, run

SHELL, LIBRARY = os.path.realpath("/bin/sh"), "/usr/lib/x86_64-linux-gnu/libc.so.6"
OTHER = "is for x86_64, not for arm64"

pytestmark = pytest.mark.skipif(host() is not X86_64, reason="the files here are for x86_64")


class OfArm64(FakeDebuginfo):
    """Tables of a kernel of arm64."""

    def __init__(self) -> None:
        self.programs = Programs(Cache(Path("/nowhere"), is_enabled=False), print, ARM64)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions be for arm64, where all families are made."""
    monkeypatch.setattr(ARM64, "refused", ())
    monkeypatch.setattr(Services, "machine", ARM64)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Make a program that says that it is for arm64."""
    path = tmp_path / "program"
    shutil.copyfile(SHELL, path)
    with path.open("r+b") as file:
        file.seek(18)
        file.write(struct.pack("<H", ARM64.elf))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("point", "options"),
    [
        ('process("/bin/sh").function("main")', {}),
        ('process("sh").mark("x")', {}),
        ('process("/bin/sh").library("libc.so.6").function("malloc")', {}),
        ('process.function("main")', {"command": "/bin/sh -c true"}),
        ('process.mark("x")', {"command": "sh -c true"}),
        ('process.function("main")', {"target": 0}),
        ('process(0).function("main")', {}),
    ],
)
def test_points(point: str, options: dict[str, object]) -> None:
    own = os.getpid()
    if "target" in options:
        options = {"target": own}
    (error,) = run(
        f"probe {point.replace('(0)', f'({own})')} {{ println(1) }}", debuginfo=OfArm64(), **options
    ).diagnostics.items
    assert (error.code, error.message.startswith("cannot probe: '")) == ("E0231", True)
    assert error.message.endswith(OTHER)
    assert "for arm64" in error.hint


def test_a_library(program: Path) -> None:
    """One is named by its path; of those that are needed the linker would take none of them."""
    text = 'probe process("%s").library("%s").function("malloc") { println(1) }'
    (error,) = run(text % (program, LIBRARY), debuginfo=OfArm64()).diagnostics.items
    assert error.message == f"cannot probe: '{os.path.realpath(LIBRARY)}' {OTHER}"
    (error,) = run(text % (program, "libc.so.6"), debuginfo=OfArm64()).diagnostics.items
    assert error.notes[0] == f"no library of '{program}' matches 'libc.so.6'"


@pytest.mark.parametrize(
    "value",
    [
        '@var("x@a.c", "/bin/sh")',
        '@cast(1, "struct x", "/bin/sh")->y',
        f'@var("errno", "{LIBRARY}")',
    ],
)
def test_values(value: str) -> None:
    (error,) = run(f"probe begin {{ println({value}) }}", debuginfo=OfArm64()).diagnostics.items
    assert error.code in ("E0241", "E0248")
    (note,) = error.notes
    assert note.endswith(OTHER)


def test_files_of_the_option_d() -> None:
    found = run(
        "probe begin { println(1) }", debuginfo=OfArm64(), debug_modules=["/bin/sh", "/etc/passwd"]
    )
    assert found.program is not None
    take_along(found.program, found.services)
    (warning,) = found.diagnostics.items
    assert (warning.code, warning.message) == ("W0681", f"-d /bin/sh: it {OTHER}")


def test_its_own_are_read(program: Path) -> None:
    programs = OfArm64().programs
    assert programs.open(str(program)).machine is ARM64
    (error,) = run(
        f'probe process("{program}").function("nosuch") {{ println(1) }}', debuginfo=OfArm64()
    ).diagnostics.items
    assert OTHER not in error.message

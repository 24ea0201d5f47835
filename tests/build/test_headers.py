"""Types out of headers of the user and of the kernel."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.build.headers import HeaderError, compiled, is_headers
from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.options import Options

NO_KERNEL: Any = SimpleNamespace(release="none")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<time.h>", True),
        ("kernel<linux/fs.h>", True),
        ("kernel<linux/fs.h><linux/mm.h>", True),
        ('"own.h"', True),
        ("kernel", False),
        ("nfs<", False),
        ("<a.h>x", False),
    ],
)
def test_names(text: str, expected: bool) -> None:
    assert is_headers(text) == expected


def ask(spec: str, folder: Path) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    cache = Cache(folder / "cache")
    return compiled(spec, NO_KERNEL, Options(), cache, folder, lambda: "")


def test_types_of_a_header(tmp_path: Path) -> None:
    path = ask("<time.h><stdlib.h>", tmp_path)
    assert ask("<time.h><stdlib.h>", tmp_path) == path  # out of the cache
    dwarf, _ = open_first([path], "", None, Cache(tmp_path / "cache"), lambda _: None)
    assert dwarf is not None
    found = dwarf.type("struct tm")
    assert isinstance(found, c.Struct)
    assert [member.name for member in found.members()][:2] == ["tm_sec", "tm_min"]
    assert dwarf.type("div_t") is not None


def test_a_header_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HeaderError, match=r"fatal error: nosuch/nosuch\.h"):
        ask("<nosuch/nosuch.h>", tmp_path)

"""What a container calls the module: looked at before it is kept and loaded."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.build.arrived import why_unfit
from stapy.translate.manifest import SECTION, encode
from tests.debuginfo.elfwriter import ElfWriter

RELEASE = "6.12.1+deb13-amd64"
SOURCE: Any = SimpleNamespace(name="one", manifest={"name": "one", "script": {"text": "probe"}})


def written(
    path: Path, name: str = "one", structure: str = "one", release: str = RELEASE, **manifest: str
) -> Path:
    file = ElfWriter()
    file.section(".modinfo", f"license=GPL\0name={name}\0vermagic={release} SMP\0".encode())
    file.section(".gnu.linkonce.this_module", b"\0" * 24 + structure.encode() + b"\0" * 40)
    file.section(SECTION, encode({**SOURCE.manifest, **manifest}))
    path.write_bytes(file.data())
    return path


def test_the_module_that_was_to_be_made(tmp_path: Path) -> None:
    assert why_unfit(written(tmp_path / "one.ko"), SOURCE, RELEASE) == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "nf_tables"}, "it is called 'nf_tables', not 'one'"),
        ({"structure": "nf_tables"}, "the kernel would know it by another name than 'one'"),
        ({"release": "6.1.0-9"}, f"it is for the kernel 6.1.0-9 SMP, not {RELEASE}"),
        ({"stapy": "another"}, "its manifest is that of another script"),
    ],
)
def test_another_module(tmp_path: Path, changes: dict[str, str], why: str) -> None:
    assert why_unfit(written(tmp_path / "one.ko", **changes), SOURCE, RELEASE) == why


def test_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.ko"
    assert why_unfit(path, SOURCE, RELEASE).startswith("it is no module: ")
    path.write_bytes(b"#!/bin/sh\n")
    assert why_unfit(path, SOURCE, RELEASE).endswith("not an ELF file")
    with path.open("wb") as file:
        file.truncate(65 << 20)
    assert why_unfit(path, SOURCE, RELEASE) == "it has 65 MB"

"""The manifest survives its way through JSON; damage is told from absence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy import __version__
from stapy.run.elf import ModuleFile
from stapy.run.errors import RunError
from stapy.translate.manifest import SECTION, assembly, encode
from tests.build import small
from tests.run.test_parts import make_module


def read(path: Path, data: bytes) -> Any:
    return ModuleFile(str(make_module(path, manifest=data))).manifest()


def test_round_trip(tmp_path: Path) -> None:
    manifest = small.source().manifest
    assert read(tmp_path / "m.ko", encode(manifest)) == manifest
    assert manifest["stapy"] == __version__
    assert encode(manifest).isascii()


def test_a_long_one_is_deflated(tmp_path: Path) -> None:
    manifest = {**small.source().manifest, "points": [f"point {n % 7}" for n in range(2000)]}
    data = encode(manifest)
    assert len(data) < 2000
    assert read(tmp_path / "m.ko", data) == manifest
    for damaged in (data[:100], b"y" + data[1:]):
        with pytest.raises(RunError, match="is damaged"):
            read(tmp_path / "m.ko", damaged)


def test_equal_manifests_have_equal_bytes() -> None:
    manifest = small.source().manifest
    turned = dict(reversed(manifest.items()))
    assert encode(turned) == encode(manifest)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b'"stapy"'])
def test_damage(tmp_path: Path, data: bytes) -> None:
    """What is to be checked stands there: nothing is run without it."""
    with pytest.raises(RunError, match="is damaged"):
        read(tmp_path / "m.ko", data)


def test_assembly_quotes_the_path() -> None:
    text = assembly('/tmp/a "b"\\c', "12ab")
    assert '.incbin "/tmp/a \\"b\\"\\\\c"' in text
    assert SECTION in text
    assert '"stapy=12ab"' in text

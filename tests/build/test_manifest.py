"""The manifest survives its way through JSON; damage is told from absence."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy import __version__
from stapy.run.elf import ModuleFile
from stapy.translate.manifest import SECTION, assembly, decode, encode, read_manifest
from tests.build import small
from tests.run.test_parts import make_module


def test_round_trip() -> None:
    manifest = small.source().manifest
    assert decode(encode(manifest)) == manifest
    assert manifest["stapy"] == __version__
    assert encode(manifest).isascii()


def test_a_long_one_is_deflated(tmp_path: Path) -> None:
    manifest = {**small.source().manifest, "points": [f"point {n % 7}" for n in range(2000)]}
    data = encode(manifest)
    assert len(data) < 2000
    assert decode(data) == manifest
    path = make_module(tmp_path / "m.ko", manifest=data)
    assert ModuleFile(str(path)).manifest() == read_manifest(path) == manifest
    for damaged in (data[:100], b"y" + data[1:]):
        path = make_module(tmp_path / "m.ko", manifest=damaged)
        assert ModuleFile(str(path)).manifest() == {}
        assert decode(damaged) is None


def test_equal_manifests_have_equal_bytes() -> None:
    manifest = small.source().manifest
    turned = dict(reversed(manifest.items()))
    assert encode(turned) == encode(manifest)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'"stapy"'])
def test_decode_damage(data: bytes) -> None:
    assert decode(data) is None


def test_assembly_quotes_the_path() -> None:
    text = assembly('/tmp/a "b"\\c', "12ab")
    assert '.incbin "/tmp/a \\"b\\"\\\\c"' in text
    assert SECTION in text
    assert '"stapy=12ab"' in text


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF" + b"\0" * 100])
def test_file_without_a_manifest(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.ko"
    path.write_bytes(content)
    assert read_manifest(path) is None
    assert read_manifest(tmp_path / "absent") is None

"""Files that dwz made smaller, and debug files that a link names."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.files.alternate import link_of
from stapy.debuginfo.dwarf.files.separate import debug_link, separate_files
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError

from ..elfwriter import ElfWriter
from .samples import extracted
from .test_kernel import opened
from .test_relocatable import told

# The sample before (plain) and after (one, common) dwz 0.15 -m; by DWARF version and, for
# the last one, with the standard's own way of linking the two files.
STYLES = ("gdwarf-4", "gdwarf-5", "gdwarf-5--dwarf-5")


@pytest.fixture(params=STYLES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    extracted("dwz", tmp_path)
    return tmp_path / str(request.param)


def test_an_alternate_file_changes_nothing(folder: Path) -> None:
    plain, small = opened(folder / "plain"), opened(folder / "one")
    assert link_of(ElfFile.open(folder / "one")) is not None
    assert small.info.alternate.headers
    expected = told(plain)
    assert len(expected) > 20
    assert told(small) == expected
    for name in ("struct point", "union both"):
        before, after = plain.type(name), small.type(name)
        assert isinstance(before, c.Struct) and isinstance(after, c.Struct)
        shapes = [
            [(m.name, m.bit_offset, m.bit_size, c.c_name(m.type)) for m in type.members()]
            for type in (before, after)
        ]
        assert shapes[0] == shapes[1]
    for name in ("enum colour", "byte"):
        assert str(plain.type(name)) == str(small.type(name))
    for name in ("origin", "hidden", "sink"):
        known = small.global_variable(name, "sample.c")
        assert known is not None and known[1] == plain.global_variable(name)[1]  # type: ignore[index]


def test_the_alternate_file_may_lie_among_the_debug_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = link_of(ElfFile.open(folder / "one"))
    assert link is not None and link.name == "common"
    debug = folder / "debug"
    by_id = debug / ".build-id" / link.mark[:2] / f"{link.mark[2:]}.debug"
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(debug))
    for place in (by_id, debug / ".dwz" / "common"):
        place.parent.mkdir(parents=True)
        (folder / "common").rename(place)
        assert told(opened(folder / "one"))
        place.rename(folder / "common")
    (folder / "common").unlink()
    with pytest.raises(DebuginfoError, match=f"alternate file common .build-id {link.mark}."):
        opened(folder / "one")


def test_an_alternate_file_of_another_build_will_not_do(folder: Path) -> None:
    link = link_of(ElfFile.open(folder / "one"))
    assert link is not None
    other = folder / "common"
    other.write_bytes(other.read_bytes().replace(bytes.fromhex(link.mark), bytes(20)))
    with pytest.raises(DebuginfoError, match="is not there"):
        opened(folder / "one")


@pytest.mark.parametrize(
    ("section", "data"),
    [(".gnu_debugaltlink", b"no end"), (".debug_sup", b"\5\0"), (".debug_sup", b"\5\0\0no end")],
)
def test_damaged_links(section: str, data: bytes) -> None:
    e = ElfWriter()
    e.section(section, data)
    with pytest.raises(DebuginfoError, match="damaged link"):
        link_of(ElfFile(e.data(), "damaged"))


# --- debug links --------------------------------------------------------------


def stripped(folder: Path, name: bytes, check_sum: int) -> Path:
    e = ElfWriter(2)
    padding = bytes(-(len(name) + 1) % 4 + 1)
    e.section(".gnu_debuglink", name + padding + struct.pack("<I", check_sum))
    path = folder / "usr/bin/tool"
    path.parent.mkdir(parents=True)
    path.write_bytes(e.data())
    return path


@pytest.mark.parametrize("place", ["{0}/tool.debug", "{0}/.debug/tool.debug", "{1}{0}/tool.debug"])
def test_debug_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    content = b"\x7fELF, as if" * 50
    path = stripped(tmp_path, b"tool.debug", zlib.crc32(content))
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path / "debug"))
    target = Path(place.format(path.parent, tmp_path / "debug"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    elf = ElfFile.open(path)
    assert debug_link(elf) == ("tool.debug", zlib.crc32(content))
    assert separate_files(elf, path) == [target]
    target.write_bytes(content + b"changed")
    assert separate_files(elf, path) == []


def test_debug_files_by_build_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path))
    e = ElfWriter(2)
    e.note("GNU", 3, bytes(range(20)))
    elf = ElfFile(e.data(), "tool")
    assert debug_link(elf) is None
    assert separate_files(elf, tmp_path / "tool") == []
    target = tmp_path / ".build-id/00" / (bytes(range(1, 20)).hex() + ".debug")
    target.parent.mkdir(parents=True)
    target.write_bytes(b"x")
    assert separate_files(elf, tmp_path / "tool") == [target]


@pytest.mark.parametrize("data", [b"no end", b"\0\0\0\0\1\2\3\4", b"name\0\0\0\0\1\2"])
def test_damaged_debug_links(data: bytes) -> None:
    e = ElfWriter()
    e.section(".gnu_debuglink", data)
    with pytest.raises(DebuginfoError, match="damaged debug link"):
        debug_link(ElfFile(e.data(), "damaged"))

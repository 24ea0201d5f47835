"""Config, exports, modules: what is read from the files of a kernel."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules, module_name

CONFIG = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_D="a b"\nCONFIG_E=0x10\nCONFIG_\n'


@pytest.mark.parametrize("packed", [False, True])
def test_config(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "config"
    path.write_bytes(gzip.compress(CONFIG.encode()) if packed else CONFIG.encode())
    config = Config([tmp_path / "missing", path])
    assert dict(config) == {
        "CONFIG_A": "y",
        "CONFIG_C": "m",
        "CONFIG_D": '"a b"',
        "CONFIG_E": "0x10",
    }
    assert config.path == path
    assert config.is_known
    assert [config.is_enabled(f"CONFIG_{x}") for x in "ABCD"] == [True, False, True, False]
    assert config.text("CONFIG_D") == "a b"
    assert config.text("CONFIG_B") == ""


def test_no_config(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8brubbish")
    config = Config([tmp_path / "missing", tmp_path / "broken.gz"])
    assert not config.is_known
    assert config.get("CONFIG_A") is None


SYMVERS = (
    "0x4c9d28b0\tphys_base\tvmlinux\tEXPORT_SYMBOL\t\n"
    "0x00000001\tfuse_do\tfs/fuse/fuse\tEXPORT_SYMBOL_GPL\tFUSE_NS\n"
    "rubbish\n"
    "nohex\tname\tvmlinux\tEXPORT_SYMBOL\t\n"
    "0x00000002\tlast\tvmlinux\tEXPORT_SYMBOL_GPL"
)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("phys_base", (0x4C9D28B0, "vmlinux", False, "")),
        ("fuse_do", (1, "fs/fuse/fuse", True, "FUSE_NS")),
        ("last", (2, "vmlinux", True, "")),
        ("phys", None),
        ("vmlinux", None),
        ("fuse", None),
    ],
)
def test_exports(tmp_path: Path, name: str, row: tuple[int, str, bool, str] | None) -> None:
    (tmp_path / "Module.symvers").write_text(SYMVERS)
    exports = Exports(tmp_path / "Module.symvers")
    found = exports.get(name)
    if row is None:
        assert found is None
    else:
        assert found is not None
        assert (found.crc, found.owner, found.gpl_only, found.namespace) == row
    assert (name in exports) == (row is not None)
    assert [export.name for export in exports] == ["phys_base", "fuse_do", "last"]


@pytest.mark.parametrize("content", [None, b""])
def test_no_exports(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "Module.symvers").write_bytes(content)
    exports = Exports(tmp_path / "Module.symvers")
    assert not exports.is_known
    assert "x" not in exports
    assert exports.get("x") is None
    assert list(exports) == []
    assert not Exports(None).is_known


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("kernel/net/nf-tables.ko.xz", "nf_tables"),
        ("fuse.ko", "fuse"),
        ("a.ko.zst", "a"),
        ("b.ko.gz", "b"),
    ],
)
def test_module_names(file: str, name: str) -> None:
    assert module_name(file) == name


@pytest.mark.parametrize("dep", [True, False])
def test_modules(tmp_path: Path, dep: bool) -> None:
    path = tmp_path / "kernel/fs/my-fs.ko"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    if dep:
        (tmp_path / "modules.dep").write_text("kernel/fs/my-fs.ko: kernel/lib/crc.ko\n")
    modules = Modules(tmp_path)
    assert modules.path("my_fs") == modules.path("my-fs") == path
    assert modules.path("crc") is None
    assert Modules(None).files() == {}
    assert Modules(tmp_path / "missing").files() == {}

"""The CRC table and its checks, on a Module.symvers of five rows."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from stapy.build.modpost import Imports, assembly, resolve, too_long
from stapy.kernel.exports import Export, Exports

_ROWS = """0x2f9b2b9a\tmodule_layout\tvmlinux\tEXPORT_SYMBOL\t
0x122c3a7e\t_printk\tvmlinux\tEXPORT_SYMBOL\t
0xbdfb6dbb\tregister_kprobe\tvmlinux\tEXPORT_SYMBOL_GPL\t
0x00000001\tusb_get\tdrivers/usb/core/usb-core\tEXPORT_SYMBOL\tUSB_NS
0x00000002\tnothing\tlib/nothing\tEXPORT_SYMBOL
broken\tbroken_row\tvmlinux\tEXPORT_SYMBOL\t
"""


class Symbol(NamedTuple):
    name: str
    section: int
    binding: int


class FakeElf:
    def __init__(self, wanted: list[str], info: str) -> None:
        self.wanted = [Symbol(name, 0, 1) for name in wanted]
        self.wanted += [Symbol("weak_one", 0, 2), Symbol("own", 3, 1), Symbol("", 0, 0)]
        self.info = info.encode()

    def symbols(self, *, with_local: bool) -> list[Symbol]:
        return self.wanted

    def read(self, name: str) -> bytes | None:
        return self.info if name == ".modinfo" else None


@pytest.fixture
def exports(tmp_path: Path) -> Exports:
    path = tmp_path / "Module.symvers"
    path.write_text(_ROWS)
    return Exports(path)


@pytest.mark.parametrize(
    ("wanted", "info", "missing", "refused", "depends"),
    [
        (["_printk"], "license=GPL\0", [], [], []),
        (["_printk", "gone"], "license=GPL\0", ["gone"], [], []),
        (["register_kprobe"], "license=GPL v2\0", [], [], []),
        (["register_kprobe"], "license=Proprietary\0", [], ["register_kprobe"], []),
        (["register_kprobe"], "", [], ["register_kprobe"], []),
        (["vmlinux", "broken_row"], "license=GPL\0", ["broken_row", "vmlinux"], [], []),
        (["usb_get"], "license=GPL\0", [], ["usb_get"], ["usb_core"]),
        (
            ["usb_get", "nothing"],
            "license=GPL\0import_ns=USB_NS\0",
            [],
            [],
            ["nothing", "usb_core"],
        ),
    ],
)
def test_resolve(
    exports: Exports,
    wanted: list[str],
    info: str,
    missing: list[str],
    refused: list[str],
    depends: list[str],
) -> None:
    imports = resolve(FakeElf(wanted, info), exports)  # type: ignore[arg-type]
    assert imports.missing == missing
    assert [name for name, _ in imports.refused] == refused
    assert sorted(imports.depends) == depends


def test_assembly_has_a_row_of_64_bytes_for_each_name(exports: Exports) -> None:
    imports = Imports([Export("_printk", 0x122C3A7E, "vmlinux", False, "")], depends=["a", "b"])
    text = assembly(imports, exports, with_versions=True)
    assert '\t.asciz "depends=a,b"' in text
    assert '\t.quad 0x122c3a7e\n\t.asciz "_printk"\n\t.zero 48\n' in text
    assert "module_layout" in text
    assert "__versions" not in assembly(imports, exports, with_versions=False)


def test_too_long() -> None:
    exports = [Export("x" * size, 1, "vmlinux", False, "") for size in (55, 56)]
    assert too_long(Imports(exports)) == ["x" * 56]

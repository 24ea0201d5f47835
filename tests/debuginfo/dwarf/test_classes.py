"""Which objects of C++ functions pass by the address of a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo import ctypes
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import built

pytestmark = pytest.mark.slow
SOURCE = r"""
struct Plain { int a; double b; };
struct Cleans { int a; ~Cleans() { a = 0; } };
struct Copies { int a; Copies() {} Copies(const Copies &o) : a(o.a) {} };
struct Made { int a; Made(int n) : a(n) {} Made(const Plain &p) : a(p.a) {} };
struct Defaulted {
	int a;
	Defaulted() = default;
	Defaulted(const Defaulted &) = default;
	~Defaulted() = default;
};
struct Virtual { int a; virtual int f() { return a; } };
struct Holds { int a; Cleans inner[2]; };
struct Inherits : Copies { int b; };
Plain plain; Cleans cleans; Copies copies; Made made(1); Defaulted defaulted; Virtual virtual_;
Holds holds; Inherits inherits;
int main() { return plain.a + virtual_.f(); }
"""


def test_what_is_copied_or_destroyed(tmp_path: Path) -> None:
    (tmp_path / "classes.cpp").write_text(SOURCE)
    path = built(tmp_path / "classes", "-g", str(tmp_path / "classes.cpp"), "-lstdc++")
    programs = Programs(Cache(tmp_path / "cache"), lambda _: None)
    dwarf = programs.dwarf(programs.open(str(path)))
    assert dwarf is not None
    told = {}
    names = ("Plain", "Cleans", "Copies", "Made", "Defaulted", "Virtual", "Holds", "Inherits")
    for name in names:
        found = dwarf.type(f"struct {name}")
        assert isinstance(found, ctypes.Struct)
        assert found.by_address is not None
        told[name] = found.by_address()
    assert {name for name, way in told.items() if way} == {
        *("Cleans", "Copies", "Virtual", "Holds", "Inherits")
    }

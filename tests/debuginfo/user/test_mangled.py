"""Names that are read out of the linker's: against c++filt, and in a library without others."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from stapy.debuginfo.user.mangled import matching, qualified
from tests.debuginfo.user.sources import built
from tests.debuginfo.user.sources import run as command
from tests.probes.uprobe import points, probe

LIBRARY = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("_ZN4shop4Cart3addEi", "shop::Cart::add"),
        ("_ZNK4shop4Cart3addEv", "shop::Cart::add"),
        ("_Z3addii", "add"),
        ("_ZL3addii", "add"),
        ("_ZSt9terminatev", "std::terminate"),
        ("_ZNSt6thread4joinEv", "std::thread::join"),
        ("_ZN4shop4CartC1Ei", "shop::Cart::Cart"),
        ("_ZN4shop4CartD2Ev", "shop::Cart::~Cart"),
        ("_ZN4shop12_GLOBAL__N_13addEv", "shop::(anonymous namespace)::add"),
        ("_ZN4shop4nameB5cxx11Ev", "shop::name"),
        ("_ZN4till4Till4sell17h0d228a898f0f8873E", "till::Till::sell"),
        # What is more, or nothing.
        ("_ZN4shop5twiceIiEET_S1_", ""),
        ("_Z5twiceIiET_S0_", ""),
        ("_ZN4shopplERKNS_4CartE", ""),
        ("_ZNSs6appendEPKc", ""),
        ("_ZTV4Cart", ""),
        ("_ZN4shop4Cart3addEi.cold", ""),
        ("_ZN60_$LT$names..Point$u20$as$u20$names..Area$GT$4area17h22dfba785e2343a4E", ""),
        ("_ZN4shop400addEv", ""),
        ("_ZN", ""),
        ("_Z", ""),
        ("_ZSt", ""),
        ("add", ""),
    ],
)
def test_names(name: str, read: str) -> None:
    assert qualified(name) == read


def test_against_the_binutils() -> None:
    rows = command("nm", "-D", "--defined-only", LIBRARY).split("\n")
    names = [row.split()[2].partition("@")[0] for row in rows if len(row.split()) == 3]
    read = {name: qualified(name) for name in names if qualified(name)}
    done = subprocess.run(
        ["c++filt", "-p"], input="\n".join(read), capture_output=True, text=True, check=True
    )
    theirs = [re.sub(r"\[abi:\w+\]", "", line) for line in done.stdout.splitlines()]
    assert len(read) > 500
    assert list(read.values()) == theirs


def test_scopes_may_be_left_out() -> None:
    names = ["_ZN4shop4Cart3addEi", "_ZN4shop4Cart3addEd", "_ZN4shop3addEv", "_Z3addi", "add"]
    assert matching("shop::Cart::add", names) == {*names[:2]}
    assert matching("Cart::add", names) == {*names[:2]}
    assert matching("*::add", names) == {*names[:3]}
    assert matching("art::add", names) == set()


@pytest.mark.slow
def test_a_stripped_library(tmp_path: Path) -> None:
    """What its own debug information would name is named by the table of exported symbols."""
    (tmp_path / "shop.cc").write_text("""
        namespace shop {
        struct Cart { int n; Cart(int n); int add(int m); int add(double m); };
        Cart::Cart(int n) : n(n) {}
        int Cart::add(int m) { return n += m; }
        int Cart::add(double m) { return n -= (int)m; }
        int all(const Cart &c) { return c.n; }
        }
    """)
    words = ("-x", "c++", "-O1", "-s", "-shared", "-fPIC", str(tmp_path / "shop.cc"))
    path = built(tmp_path / "libshop.so", *words)
    head = f'process("{path}").function'
    for pattern, count in {"shop::Cart::add": 2, "Cart::add": 2, "shop::*": 4, "*::all": 1}.items():
        assert len(points(probe(f'{head}("{pattern}")'))) == count, pattern
    assert points(probe(f'{head}("shop::all").return')) == [
        f'{head}("_ZN4shop3allERKNS_4CartE").return'
    ]
    assert probe(f'{head}("shop::al")').codes == ["E0231"]


@pytest.mark.parametrize(
    "name",
    [
        f"_ZN{'9' * 5000}aEv",
        f"_ZN3addB{'9' * 5000}aEv",
        f"_ZN{'1a' * 20000}Ev",
    ],
    ids=["a long number", "a long tag", "many scopes"],
)
def test_names_that_no_compiler_makes(name: str) -> None:
    assert qualified(name) == ""
    assert matching("a::*zz*b", [name]) == set()

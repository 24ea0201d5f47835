from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols.kallsyms import Kallsyms
from stapy.debuginfo.symbols.kallsyms_layout import locate, shift
from tests.debuginfo.kallsymswriter import symbols, write

LAYOUTS = ["5.10", "6.1", "6.12"]
NOISE = b"\1\2\3\4" * 200 + b"0123456789" + b"".join(b"%d\0" % d for d in range(10)) + bytes(64)


@pytest.fixture(params=LAYOUTS)
def tables(request: pytest.FixtureRequest) -> Kallsyms:
    data = NOISE + bytes(-len(NOISE) % 8) + write(symbols(), request.param) + NOISE
    layout = locate(data)
    assert layout is not None
    piece = data[layout.start : layout.end]
    return Kallsyms(piece, shift(layout, layout.start))


def test_all_symbols_come_back(tables: Kallsyms) -> None:
    assert list(tables.symbols()) == symbols()
    assert len(tables) == len(symbols())


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("_text", ["T"]),
        ("func_0001", ["T"]),
        ("func_0699", ["T"]),
        ("func_0003", ["Tb"]),
        ("dup", ["t", "t"]),
        ("quiet", ["tn"]),
        ("early", ["ti"]),
        ("leave", ["ti"]),
        ("later", ["t"]),
        ("func", []),
        ("zzz", []),
        ("", []),
    ],
)
def test_marks(tables: Kallsyms, name: str, kinds: list[str]) -> None:
    lines = tables.text().decode().splitlines()
    assert lines == sorted(lines)
    assert [line.split(" ")[1] for line in lines if line.split(" ")[0] == name] == kinds
    if tables.searchable:
        assert tables.find(name) == kinds


def test_which_layouts_can_be_searched() -> None:
    found = {}
    for name in LAYOUTS:
        data = write(symbols(), name)
        layout = locate(data)
        assert layout is not None
        found[name] = Kallsyms(data, layout).searchable
    assert found == {"5.10": False, "6.1": True, "6.12": True}


@pytest.mark.parametrize(
    "data", [b"", NOISE, b"".join(b"%d\0" % d for d in range(10)) * 50, bytes(4096)]
)
def test_nothing_is_found_where_nothing_is(data: bytes) -> None:
    assert locate(data) is None


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_damaged_tables_give_no_crash(data: st.DataObject) -> None:
    image = bytearray(write(symbols(300), data.draw(st.sampled_from(LAYOUTS))))
    for _ in range(data.draw(st.integers(1, 4))):
        image[data.draw(st.integers(0, len(image) - 1))] = data.draw(st.integers(0, 255))
    layout = locate(bytes(image))
    if layout is not None:
        tables = Kallsyms(bytes(image), layout)
        if tables.searchable:
            tables.find("func_0001")
        with contextlib.suppress(DebuginfoError):
            tables.text()


@pytest.mark.parametrize("name", LAYOUTS)
def test_tables_that_lead_out_of_the_data(name: str) -> None:
    data = write(symbols(300), name)
    layout = locate(data)
    assert layout is not None
    tokens = bytearray(data)
    tokens[layout.tokens : layout.token_index] = b"x" * (layout.token_index - layout.tokens)
    empty = bytearray(data)
    empty[layout.names : layout.names + 4] = bytes(4)  # four names without even a kind
    far = bytearray(data)
    far[layout.names : layout.names + 2] = b"\xff\x7f"
    with pytest.raises(DebuginfoError, match="damaged symbol table"):
        Kallsyms(bytes(tokens), layout)
    with pytest.raises(DebuginfoError, match="damaged symbol table"):
        Kallsyms(data[: layout.token_index + 9], layout)
    for damaged in (empty, far):
        tables = Kallsyms(bytes(damaged), layout)
        with pytest.raises(DebuginfoError, match="damaged symbol table"):
            list(tables.symbols())
    cut = Kallsyms(data, layout)
    cut._data = data[: layout.names + 4]
    for question in (cut.text, lambda: cut.address("func_0001"), lambda: list(cut.symbols())):
        with pytest.raises(DebuginfoError, match="damaged symbol table"):
            question()

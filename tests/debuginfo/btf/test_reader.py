from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.errors import DebuginfoError
from tests.debuginfo.btfwriter import BtfWriter


def sample() -> BtfWriter:
    w = BtfWriter()
    num = w.int("int")
    w.int("unsigned int", signed=False)
    char = w.int("char", 1, signed=False)
    w.bool()
    size_t = w.typedef("size_t", w.int("long unsigned int", 8, signed=False))
    number = w.end  # struct node holds pointers to itself
    w.struct("node", 24, [("next", number + 1, 0), ("", number + 2, 64), ("name", number + 3, 128)])
    w.pointer(number)
    w.struct("", 8, [("a", num, 0), ("b", num, 0)], union=True)
    w.array(char, 8)
    w.struct("flags", 4, [("low", num, 0, 3), ("high", num, 3, 5), ("whole", num, 0, 0)])
    w.enum("color", {"RED": 0, "BLUE": 0xFFFFFFFF})
    w.enum("sign", {"MINUS": -5}, signed=True)
    w.enum64("wide", {"WIDE": 1 << 40, "BELOW": -(1 << 33)}, signed=True)
    w.forward("hidden")
    w.forward("hidden_union", union=True)
    text = w.pointer(w.tag("user", w.qualified(10, char)))
    file = w.pointer(w.forward("file"))
    w.function("vfs_read", size_t, [("file", file), ("buf", text), ("count", size_t)])
    w.function("vfs_write", size_t, [("file", file)])
    w.function("vfs_read", num, [])  # a second one of that name
    void = w.pointer(0)
    w.function("__traceiter_sched_switch", num, [("__data", void), ("preempt", num)])
    w.function("__traceiter_empty", num, [("__data", void)])
    w.add(12, "printk", w.proto(num, [("fmt", text)], variadic=True))
    w.variable("current_node", w.pointer(number))
    w.add(16, "double", 8)
    w.add(15, ".data..percpu", 8, count=1, body=bytes(12))
    w.add(17, "decl", num, body=bytes(4))
    return w


@pytest.fixture(scope="module")
def btf() -> Btf:
    return Btf(sample().data(), "sample")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int", "int"),
        ("unsigned int", "unsigned int"),
        ("unsigned   int", "unsigned int"),
        ("size_t", "size_t"),
        ("struct node", "struct node"),
        ("node", "struct node"),
        ("enum color", "enum color"),
        ("color", "enum color"),
        ("double", "double"),
        ("struct hidden", "struct hidden"),
        ("union hidden_union", "union hidden_union"),
    ],
)
def test_types_by_name(btf: Btf, name: str, text: str) -> None:
    found = btf.type(name)
    assert found is not None
    assert c.c_name(found) == text


@pytest.mark.parametrize("name", ["struct color", "union node", "enum node", "nothing", "", "f x"])
def test_unknown_types(btf: Btf, name: str) -> None:
    assert btf.type(name) is None


def test_integers(btf: Btf) -> None:
    rows = {
        name: (type.size, type.signed, type.encoding)
        for name in ("int", "unsigned int", "char", "_Bool", "long unsigned int")
        if isinstance(type := btf.type(name), c.Int)
    }
    assert rows == {
        "int": (4, True, "signed"),
        "unsigned int": (4, False, "unsigned"),
        "char": (1, True, "char"),
        "_Bool": (1, False, "bool"),
        "long unsigned int": (8, False, "unsigned"),
    }


def test_members_anonymous_ones_too(btf: Btf) -> None:
    node = btf.type("struct node")
    assert node is not None
    assert c.member_names(node) == ["next", "a", "b", "name"]
    member, offset = c.find_member(node, "b") or (None, 0)
    assert member is not None
    assert (offset, c.c_name(member.type)) == (64, "int")
    next_member, _ = c.find_member(node, "next") or (None, 0)
    assert next_member is not None
    assert isinstance(next_member.type, c.Pointer)
    assert next_member.type.target is node
    name, offset = c.find_member(node, "name") or (None, 0)
    assert name is not None
    assert (offset, c.c_name(name.type), c.size_of(name.type)) == (128, "char[8]", 8)


def test_bit_fields(btf: Btf) -> None:
    flags = btf.type("struct flags")
    assert isinstance(flags, c.Struct)
    rows = [(m.name, m.bit_offset, m.bit_size) for m in flags.members()]
    assert rows == [("low", 0, 3), ("high", 3, 5), ("whole", 0, 0)]


def test_bit_fields_of_old_pahole() -> None:
    w = BtfWriter()
    narrow = w.int("int", bits=5)
    plain = w.int("int")
    w.struct("s", 4, [("a", narrow, 8), ("b", w.typedef("t", narrow), 13), ("c", plain, 0)])
    found = Btf(w.data(), "old").type("struct s")
    assert isinstance(found, c.Struct)
    rows = [(m.name, m.bit_offset, m.bit_size) for m in found.members()]
    assert rows == [("a", 8, 5), ("b", 13, 5), ("c", 0, 0)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RED", 0),
        ("BLUE", 0xFFFFFFFF),
        ("MINUS", -5),
        ("WIDE", 1 << 40),
        ("BELOW", -(1 << 33)),
        ("color", None),
        ("vfs_read", None),
        ("GREEN", None),
    ],
)
def test_enumerators(btf: Btf, name: str, value: int | None) -> None:
    assert btf.enumerator(name) == value


def test_functions(btf: Btf) -> None:
    read = btf.function("vfs_read")
    assert read is not None
    assert c.c_name(read, "vfs_read") == "size_t vfs_read(struct file *, const char *, size_t)"
    buffer = read.params[1].type
    assert isinstance(buffer, c.Pointer)
    assert buffer.is_user
    assert not getattr(read.params[0].type, "is_user", True)
    printk = btf.function("printk")
    assert printk is not None
    assert printk.is_variadic
    assert len(printk.params) == 1
    assert btf.function("node") is None


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("vfs_*", ["vfs_read", "vfs_write"]),
        ("vfs_read", ["vfs_read"]),
        ("*read*", ["vfs_read"]),
        ("vfs_?ead", ["vfs_read"]),
        ("vfs_[!r]*", ["vfs_write"]),
        ("vfs_[^r]*", ["vfs_write"]),
        ("vfs.*", []),
    ],
)
def test_function_patterns(btf: Btf, pattern: str, names: list[str]) -> None:
    assert list(btf.functions(pattern)) == names


def test_tracepoints(btf: Btf) -> None:
    assert list(btf.tracepoints()) == ["empty", "sched_switch"]
    assert list(btf.tracepoints("sched*")) == ["sched_switch"]
    params = btf.tracepoint("sched_switch")
    assert params is not None
    assert [(p.name, c.c_name(p.type)) for p in params] == [("preempt", "int")]
    assert btf.tracepoint("empty") == []
    assert btf.tracepoint("nothing") is None


def test_variables(btf: Btf) -> None:
    found = btf.variable("current_node")
    assert found is not None
    assert c.c_name(found) == "struct node *"
    assert btf.variable("vfs_read") is None


def test_forward_declarations(btf: Btf) -> None:
    found = btf.type("struct hidden")
    assert isinstance(found, c.Struct)
    assert found.is_declaration
    assert found.members() == []


def test_split_btf_of_a_module(btf: Btf) -> None:
    base = sample()
    split = BtfWriter(base)
    number = split.struct("mine", 8, [("count", 1, 0), ("vfs_read", 1, 32)])
    split.function("my_read", 1, [("mine", split.pointer(number))])
    split.enum("mode", {"MODE_X": 3})
    module = Btf(split.data(), "module", btf)
    mine = module.type("struct mine")
    assert isinstance(mine, c.Struct)
    assert [m.name for m in mine.members()] == ["count", "vfs_read"]
    read = module.function("my_read")
    assert read is not None
    assert c.c_name(read, "my_read") == "int my_read(struct mine *)"
    assert list(module.functions()) == ["my_read"]
    assert module.type("struct node") is None
    assert module.enumerator("MODE_X") == 3
    assert module.type_by_number(1) is btf.type("int")


def test_types_outside_of_the_data_are_unknown() -> None:
    w = BtfWriter()
    w.typedef("bad", 999)
    found = Btf(w.data(), "x").type("bad")
    assert isinstance(found, c.Typedef)
    assert isinstance(found.target, c.UnknownType)


def test_a_type_that_contains_itself() -> None:
    w = BtfWriter()
    w.typedef("a", 2)
    w.typedef("b", 1)
    with pytest.raises(DebuginfoError, match="contains itself"):
        Btf(w.data(), "x").type("a")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d[:10], "too short"),
        (lambda d: b"\0\0" + d[2:], "little-endian"),
        (lambda d: d[:2] + b"\7" + d[3:], "version 7"),
        (lambda d: d[:-40], "outside of the data"),
        (lambda d: d[:12] + b"\xff\xff\xff\x7f" + d[16:], "outside of the data"),
        (lambda d: d[:31] + b"\x1f" + d[32:], "unknown kind"),
    ],
)
def test_damaged_headers(change: object, why: str) -> None:
    with pytest.raises(DebuginfoError, match=why):
        Btf(change(sample().data()), "x")  # type: ignore[operator]


def walk(type: c.CType, budget: list[int]) -> None:
    budget[0] -= 1
    if budget[0] < 0:
        return
    if isinstance(type, c.Struct):
        for member in type.members():
            walk(member.type, budget)
    elif isinstance(type, c.FunctionType):
        for param in type.params:
            walk(param.type, budget)
    elif isinstance(type, (c.Pointer, c.Typedef, c.Qualified)):
        walk(type.target, budget)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_damage_ends_in_a_clean_error(data: st.DataObject) -> None:
    image = bytearray(sample().data())
    for _ in range(data.draw(st.integers(1, 6))):
        image[data.draw(st.integers(24, len(image) - 1))] = data.draw(st.integers(0, 255))
    try:
        btf = Btf(bytes(image), "fuzz")
        for number in range(btf.end + 2):
            walk(btf.type_by_number(number), [200])
        for name in list(btf.functions()):
            btf.function(name)
        for name in ("RED", "WIDE"):
            btf.enumerator(name)
    except DebuginfoError as error:
        assert "BTF" in str(error)

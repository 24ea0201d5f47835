"""Names of modules: taking turns, finding out what a loaded module does, renaming its image."""

import os
import struct

import pytest

from stapy.run import mark
from stapy.run.elf import SIGNED, STRUCTURE, ModuleFile
from stapy.run.errors import RunError
from stapy.run.naming import LOCK, NAME_BYTES, Turn, free_name, renamed, unique


def module_file(path, name, structure):
    """Write an ELF file with a name and the section that the kernel takes a module's name from."""
    names = b"\0.modinfo\0" + STRUCTURE.encode() + b"\0.shstrtab\0"
    info = b"name=" + name + b"\0"
    at = 64
    rows = [(0,) * 10]
    body = b""
    for word, kind, data in (
        (b".modinfo", 1, info),
        (STRUCTURE.encode(), 1, structure),
        (b".shstrtab", 3, names),
    ):
        rows.append((names.index(word), kind, 0, 0, at + len(body), len(data), 0, 0, 1, 0))
        body += data
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at + len(body), 0, 64, 0, 0, 64, len(rows), 3
    )
    table = b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)
    path.write_bytes(header + body + table)
    return path


def structure_of(name):
    return bytes(24) + name.ljust(NAME_BYTES, b"\0") + bytes(40)


def test_image_gets_the_name_where_the_kernel_looks(tmp_path):
    path = module_file(tmp_path / "one.ko", b"one", structure_of(b"one"))
    image = renamed(ModuleFile(str(path)), "one__77")
    (tmp_path / "two.ko").write_bytes(image)
    again = ModuleFile(str(tmp_path / "two.ko"))
    assert again.elf.section(STRUCTURE) == structure_of(b"one__77")
    assert len(image) == path.stat().st_size
    assert again.elf.section(".modinfo") == b"name=one\0"


def test_signature_of_another_name_is_dropped(tmp_path):
    path = module_file(tmp_path / "one.ko", b"one", structure_of(b"one"))
    path.write_bytes(path.read_bytes() + b"signature" + SIGNED)
    assert renamed(ModuleFile(str(path)), "two").endswith(b"signature")


@pytest.mark.parametrize("structure", [b"", bytes(200), bytes(24) + b"one\0"])
def test_module_that_cannot_be_renamed(tmp_path, structure):
    path = module_file(tmp_path / "one.ko", b"one", structure)
    with pytest.raises(RunError, match="cannot be given another name"):
        renamed(ModuleFile(str(path)), "two")


@pytest.mark.parametrize("name", ["one", "x" * 40, "x" * 55])
def test_unique_names_are_different_and_fit(name):
    names = {unique(name, number) for number in (1, 22, 4194304)}
    assert len(names) == 3
    assert all(len(one) < NAME_BYTES and one.isidentifier() for one in names)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Make a false /sys/module and /proc, in which `add` puts modules."""
    (tmp_path / "proc").mkdir()

    def add(name, state=None, initstate="live", folder=True):
        (tmp_path / "sys" / name / "parameters").mkdir(parents=True)
        if state is not None:
            (tmp_path / "sys" / name / "parameters" / "stapy_state").write_text(state)
        if initstate:
            (tmp_path / "sys" / name / "initstate").write_text(initstate + "\n")
        if folder:
            (tmp_path / "proc" / f"stapy_{name}").mkdir()

    add.places = (str(tmp_path / "sys"), str(tmp_path / "proc"))
    return add


@pytest.mark.parametrize(
    ("state", "initstate", "folder", "ours", "refused"),
    [
        ("running\n", "live", True, True, ""),
        ("stopped\n", "live", True, True, ""),
        (None, "live", False, False, "which stapy did not make"),
        (None, "live", True, False, "which stapy did not make"),  # a folder proves nothing
        ("running\n", "live", False, False, "which stapy did not make"),
        ("Y\n", "live", True, False, "which stapy did not make"),
        (None, "", False, False, "the kernel itself has a part of this name"),
        (None, "going", False, False, ""),
        (None, "coming", False, False, ""),
    ],
)
def test_what_is_ours(world, state, initstate, folder, ours, refused):
    world("one", state, initstate, folder)
    assert mark.is_ours("one", *world.places) is ours
    told = mark.refusal("one", *world.places)
    assert (refused in told) if refused else not told


@pytest.mark.parametrize("until", range(5))
@pytest.mark.parametrize("lasting", range(4))
@pytest.mark.parametrize("states", ["changing ours", "ours changing gone"], ids=["comes", "goes"])
def test_a_module_of_ours_that_changes_between_two_questions(monkeypatch, states, until, lasting):
    """Another consumer loads or removes it meanwhile: it is nobody else's for that."""
    first, second, *last = states.split()
    ahead = [first] * until + [second] * lasting + (last or [second])

    def now():
        return ahead.pop(0) if len(ahead) > 1 else ahead[0]

    monkeypatch.setattr(mark, "is_going", lambda *_: now() == "changing")
    monkeypatch.setattr(mark, "is_ours", lambda *_: now() == "ours")
    monkeypatch.setattr(mark, "is_loaded", lambda *_: now() != "gone")
    assert mark.refusal("one") == ""


def test_names_that_lead_elsewhere(world):
    world("one", "running")
    for name in ("", ".", "..", "one/../one", "two", "one\0"):
        assert not mark.is_loaded(name, world.places[0])
        assert not mark.is_ours(name, *world.places)


def test_a_name_that_is_free(monkeypatch):
    there = {unique("one", 7), unique("one", "7_1")}
    monkeypatch.setattr(mark, "is_loaded", lambda name: name in there)
    assert free_name("one", 7) == "one__7_2"
    assert free_name("one", 8) == "one__8"


def test_file_of_two_names(tmp_path):
    right = module_file(tmp_path / "one.ko", b"one", structure_of(b"one"))
    assert ModuleFile(str(right)).is_named()
    wrong = module_file(tmp_path / "two.ko", b"one", structure_of(b"dummy"))
    assert not ModuleFile(str(wrong)).is_named()


@pytest.mark.parametrize(
    ("mode", "owner", "fixed"),
    [
        (0o644, None, True),
        (0o600, None, True),
        (0o664, None, False),
        (0o646, None, False),
        (0o644, 12345, False),
    ],
)
def test_file_that_others_can_change(tmp_path, mode, owner, fixed):
    path = module_file(tmp_path / "one.ko", b"one", structure_of(b"one"))
    path.chmod(mode)
    if owner:
        if os.geteuid():
            pytest.skip("only root gives files away")
        os.chown(path, owner, owner)
    assert ModuleFile(str(path)).is_fixed() is fixed


def test_what_is_read_stays_what_it_was(tmp_path):
    path = module_file(tmp_path / "one.ko", b"one", structure_of(b"one"))
    module = ModuleFile(str(path))
    before = path.read_bytes()
    path.with_name("other").write_bytes(b"planted")
    path.with_name("other").rename(path)
    assert os.pread(module.fd, 1 << 20, 0) == module.elf.data == before


def test_turns_exclude_each_other_but_not_for_ever(tmp_path):
    import fcntl

    def free():
        fd = os.open(tmp_path / LOCK, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
        return True

    with Turn([str(tmp_path)], 0.05) as first:
        assert (tmp_path / LOCK).stat().st_mode & 0o777 == 0o600
        assert not free()
        with Turn([str(tmp_path)], 0.05):  # gives up waiting and goes on
            assert not free()
        first.end()
        assert free()
    with Turn([str(tmp_path / "none")]):
        pass


def test_a_lock_that_others_may_open_is_none(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    (tmp_path / "a" / LOCK).write_text("")
    (tmp_path / "a" / LOCK).chmod(0o644)
    (tmp_path / "b" / LOCK).symlink_to(tmp_path / "elsewhere")
    with Turn([str(tmp_path / name) for name in "abc"]):
        assert (tmp_path / "c" / LOCK).exists()
    assert not (tmp_path / "elsewhere").exists()

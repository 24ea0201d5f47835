"""Names of modules: taking turns, finding out what a loaded module does, renaming its image."""

import struct

import pytest

from stapy.run.elf import ModuleFile
from stapy.run.errors import RunError
from stapy.run.naming import NAME_BYTES, SIGNED, STRUCTURE, Turn, renamed, state_of, unique


def module_file(path, name, structure):
    """An ELF file with a name and the section that the kernel takes a module's name from."""
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


def test_state(tmp_path):
    (tmp_path / "one" / "parameters").mkdir(parents=True)
    (tmp_path / "one" / "parameters" / "stapy_state").write_text("running\n")
    assert state_of("one", str(tmp_path)) == "running"
    assert state_of("two", str(tmp_path)) == ""


def test_turns_exclude_each_other_but_not_for_ever(tmp_path):
    import fcntl
    import os

    def free():
        fd = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
        return True

    with Turn(str(tmp_path), 0.05) as first:
        assert not free()
        with Turn(str(tmp_path), 0.05):  # gives up waiting and goes on
            assert not free()
        first.end()
        assert free()
    with Turn(str(tmp_path / "none")):
        pass

"""Damaged files end in answers or a clean error, in bounded time and memory: see `fuzz.py`.

``STAPY_FUZZ_SECONDS=1200 pytest tests/debuginfo/test_fuzz.py`` searches for longer.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from . import fuzz
from .btf.test_reader import sample
from .dwarf.samples import RELOCATABLE, STYLES, extracted, make
from .test_vmlinuz import PACKERS, bz_image, vmlinux
from .user.test_sdt import assembled, note, program

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("STAPY_FUZZ_SECONDS", "12"))
# Target of `asking.TARGETS` and the file; what is not among these is asked for by hand only.
CASES = (
    ("elf", "gcc"),
    ("btf", "btf"),
    ("pack", "gzip"),
    ("dwarf", "gcc"),
    ("dwarf", "clang"),
    ("dwarf", "module"),
    ("dwarf", "rust"),
    ("dwarf", "dwz"),
    ("alternate", "common"),
    ("later", "module"),
    ("frames", "gcc"),
    ("index", "gcc"),
    ("user", "marks"),
    *(("image", packer) for packer in PACKERS),
)


def written(kind: str, folder: Path) -> Path:
    if kind == "gcc":
        return make(folder, STYLES[1])
    if kind == "module":
        return make(folder, STYLES[1], RELOCATABLE)
    if kind == "marks":
        notes = [note("one", "-4@%eax 8@value+8(%rip) 1@-3(%rax,%rcx,4)", "first", "counted")] * 3
        return assembled(folder, program(*notes))
    kept = {
        "clang": ("clang", "gdwarf-5/sample"),
        "rust": ("rust", "rust"),
        "dwz": ("dwz", "gdwarf-5/one"),
        "common": ("dwz", "gdwarf-5/common"),
    }
    if kind in kept:
        name, inside = kept[kind]
        extracted(name, folder)
        return folder / inside
    data = sample().data() if kind == "btf" else bz_image(PACKERS[kind](vmlinux()))
    (folder / kind).write_bytes(data)
    return folder / kind


@pytest.mark.parametrize(("target", "kind"), CASES, ids=["-".join(case) for case in CASES])
def test_damage_gives_answers_or_a_clean_error(target: str, kind: str, tmp_path: Path) -> None:
    search = fuzz.prepare(target, written(kind, tmp_path))
    report = search.run(SECONDS / len(CASES), least=10)
    print(f"\n{target} {kind}: {report.inputs} inputs, the slowest {report.slowest[0]:.2f} s")
    assert report.inputs >= 10
    assert not report.faults, f"python -m tests.debuginfo.fuzz {target} 1 --only {report.faults}"


def test_faults_are_found(tmp_path: Path) -> None:
    """Of each kind that the search is for."""
    path = written("gcc", tmp_path)
    data = path.read_bytes()
    for fault in ("RecursionError", "MemoryError", "TooLong", "IndexError"):

        def ask(data: bytes, fault: str = fault) -> None:
            if fault == "RecursionError":
                ask(data)
            elif fault == "MemoryError":
                bytearray(2 * fuzz.MEMORY)
            elif fault == "TooLong":
                while True:
                    pass
            raise IndexError

        # To recurse may take a while: as deep as others in this process have allowed.
        limit = 0.2 if fault == "TooLong" else 20.0
        search = fuzz.Search(data, [(0, len(data))], ask, limit)
        report = search.run(0.01)
        assert [name.split()[0] for name in report.faults] == [fault]


def test_an_input_is_told_by_its_number() -> None:
    for number in range(50):
        one, other = bytearray(range(200)), bytearray(range(200))
        fuzz.damage(one, [(20, 60), (100, 140)], random.Random(number))
        fuzz.damage(other, [(20, 60), (100, 140)], random.Random(number))
        assert one == other
        if len(one) == 200:
            changed = [at for at in range(200) if one[at] != at]
            assert all(20 <= at < 60 or 100 <= at < 148 for at in changed)

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.facts import QUESTIONS, Question, answer, kernel_facts
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules
from stapy.kernel.target import Kernel
from stapy.paths import data_dir

from ..debuginfo.btfwriter import BtfWriter


def btf() -> Btf:
    w = BtfWriter()
    num = w.int("int")
    call = w.pointer(w.proto(num, [("a", num), ("b", num)]))
    inner = w.struct("", 4, [("deep", num, 0)])
    w.struct("thing", 16, [("x", num, 0), ("", inner, 32), ("call", call, 64)])
    w.forward("hidden")
    w.enum("color", {"GREEN": 1, "RED": 2})
    w.function("two", num, [("a", num), ("b", num)])
    return Btf(w.data(), "x")


def kernel(folder: Path, version: tuple[int, ...] = (6, 1, 0), source: bool = True) -> Kernel:
    (folder / "include/linux").mkdir(parents=True, exist_ok=True)
    (folder / "include/linux/there.h").write_text("")
    (folder / "Module.symvers").write_text("0x1\tgiven\tvmlinux\tEXPORT_SYMBOL\t\n")
    exports = Exports(folder / "Module.symvers")
    place = folder if source else None
    config = Config([])
    return Kernel(
        "6.1-x", version, "x86_64", False, place, place, None, None, config, exports, Modules(None)
    )


def ask(kind: str, subject: str, count: int = 0) -> Question:
    return Question("X", kind, subject, count, (6, 0), (6, 5))


@pytest.mark.parametrize(
    ("question", "yes", "origin"),
    [
        (ask("export", "given"), True, "Module.symvers"),
        (ask("export", "absent"), False, "Module.symvers"),
        (ask("member", "thing.x"), True, "BTF: thing.x"),
        (ask("member", "thing.deep"), True, "BTF: thing.deep"),
        (ask("member", "thing.y"), False, "BTF: thing.y"),
        (ask("member", "hidden.y"), True, "kernel version 6.1"),
        (ask("arity", "two", 2), True, "BTF: two() takes 2"),
        (ask("arity", "two", 3), False, "BTF: two() takes 2"),
        (ask("arity", "absent", 3), True, "kernel version 6.1"),
        (ask("value", "color.RED"), True, "BTF: color.RED"),
        (ask("value", "color.BLUE"), False, "BTF: color.BLUE"),
        (ask("value", "absent.RED"), True, "kernel version 6.1"),
        (ask("callback", "thing.call", 2), True, "BTF: thing.call takes 2"),
        (ask("callback", "thing.call", 1), False, "BTF: thing.call takes 2"),
        (ask("callback", "thing.x", 1), True, "kernel version 6.1"),
        (ask("type", "struct thing"), True, "BTF: struct thing"),
        (ask("type", "struct hidden"), False, "BTF: struct hidden"),
        (ask("type", "struct absent"), False, "BTF: struct absent"),
        (ask("header", "linux/there.h"), True, "include/linux/there.h"),
        (ask("header", "linux/absent.h"), False, "include/linux/absent.h"),
    ],
)
def test_answers_from_data(tmp_path: Path, question: Question, yes: bool, origin: str) -> None:
    target = kernel(tmp_path)
    assert answer(question, target, btf(), target.exports) == (yes, origin)


@pytest.mark.parametrize("kind", ["export", "member", "arity", "callback", "type", "header"])
@pytest.mark.parametrize(
    ("version", "yes"),
    [((5, 19, 1), False), ((6, 0), True), ((6, 4, 9), True), ((6, 5, 0), False), ((), False)],
)
def test_without_data_the_version_decides(
    tmp_path: Path, kind: str, version: tuple[int, ...], yes: bool
) -> None:
    target = kernel(tmp_path, version, source=False)
    found, origin = answer(ask(kind, "a.b"), target, None, Exports(None))
    assert found == yes
    assert origin.startswith("kernel version")


def test_the_header(tmp_path: Path) -> None:
    target = kernel(tmp_path)
    text = kernel_facts(target, btf(), target.exports)
    lines = re.findall(r"^#define STAPY_HAVE_(\w+) +([01]) /\* .+ \*/$", text, re.M)
    assert [name for name, _ in lines] == [question.name for question in QUESTIONS]
    assert text.startswith("/* ")
    assert text.endswith("#endif\n")
    assert all(len(line) <= 100 for line in text.splitlines())


def test_questions_are_distinct() -> None:
    names = [question.name for question in QUESTIONS]
    assert len(set(names)) == len(names)


def test_the_runtime_asks_nothing_else() -> None:
    known = {f"STAPY_HAVE_{question.name}" for question in QUESTIONS}
    folders = [data_dir("runtime"), data_dir("tapsets"), data_dir("templates")]
    asked: dict[str, Path] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in (".c", ".h", ".stp", ".stpm", ".j2"):
                for name in re.findall(r"\bSTAPY_HAVE_\w+\b", path.read_text()):
                    asked.setdefault(name, path)
    assert {name: path for name, path in asked.items() if name not in known} == {}

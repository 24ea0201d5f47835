"""What kbuild left behind becomes commands with placeholders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stapy.build import commands
from stapy.build.commands import CaptureError, _CommandReader, _template, fill

MOD_C = """#include <linux/module.h>
MODULE_INFO(name, KBUILD_MODNAME);
struct module __this_module = { .name = KBUILD_MODNAME };

static const struct modversion_info ____versions[]
__used __section("__versions") = {
\t{ 0x1, "_printk" },
};

MODULE_INFO(depends, "usb");
"""
CC = shutil.which("true") or "/bin/true"


def leave(folder: Path, **changes: str) -> Path:
    """Fill a folder as a dummy build leaves it; return it."""
    table = {
        "one.o": f"{CC} -Wp,-MMD,{folder}/.one.o.d -g -gdwarf-5 -O2 -I./include -I/abs "
        "-include ./include/first.h -DKBUILD_BASENAME='\"one\"' -DKBUILD_MODNAME='\"stapydummy\"' "
        f"-D__KBUILD_MODNAME=kmod_stapydummy -c -o {folder}/one.o {folder}/one.c ; "
        f"./tools/check --module {folder}/one.o",
        "stapydummy.o": f"{CC} -r -o {folder}/stapydummy.o @{folder}/stapydummy.mod ",
        "stapydummy.ko": f"{CC} -r -T arch/module.lds -o {folder}/stapydummy.ko "
        f"{folder}/stapydummy.o {folder}/stapydummy.mod.o {folder}/.module-common.o; true",
    }
    table["two.o"] = table["one.o"].replace("one", "two")
    table.update({name.replace("__", "."): text for name, text in changes.items()})
    for name, text in table.items():
        word = "savedcmd" if name == "one.o" else "cmd"
        (folder / f".{name}.cmd").write_text(f"{word}_{folder}/{name} := {text}\n\nother := x\n")
    (folder / "stapydummy.mod.c").write_text(MOD_C)
    (folder / "variables").write_text("SRCARCH=x86\nARCH=x86\n")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    build = tmp_path / "linux"
    for name in ("include/first.h", "tools/check", "arch/module.lds"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text("")
        (build / name).chmod(0o755)
    return build


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "dummy"
    path.mkdir()
    return path


def test_read(tree: Path, folder: Path) -> None:
    found = _CommandReader(tree, leave(folder)).read()
    assert found.compile == [
        CC,
        '-DKBUILD_BASENAME="stapy"',
        '-DKBUILD_MODNAME="stapy"',
        "-D__KBUILD_MODNAME=kmod_stapy",
        "-O2",
        f"-I{tree}/include",
        "-I/abs",
        "-include",
        f"{tree}/include/first.h",
        "-c",
        "-o",
        "@OBJECT@",
        "@SOURCE@",
    ]
    assert found.after_compile == [[f"{tree}/tools/check", "--module", "@OBJECT@"]]
    assert found.link == [CC, "-r", "-o", "@OUTPUT@", "@INPUTS@"]
    assert found.after_link == []
    assert found.final == [CC, "-r", "-T", f"{tree}/arch/module.lds", "-o", "@OUTPUT@", "@INPUTS@"]
    assert found.versions
    assert found.environment == {"SRCARCH": "x86", "ARCH": "x86"}
    assert same_after_storing(found)


def same_after_storing(found: commands.Commands) -> bool:
    import json

    again = commands.load(json.loads(json.dumps(found.as_data())), found.common)
    return again.as_data() == found.as_data()


@pytest.mark.parametrize(
    ("target", "text", "reason"),
    [
        ("one__o", f"{CC} -c one.c | cat", "uses the shell"),
        ("one__o", f"if {CC}; then x; fi > y", "uses the shell"),
        ("one__o", "no-such-compiler -c", "is not there"),
        ("one__o", f"{CC} -O3 -c -o one.o one.c", "different ways"),
        ("stapydummy__o", f"{CC} -r", "unknown shape"),
        ("stapydummy__ko", f"{CC} -r -o stapydummy.ko stapydummy.o; {CC} x", "last link"),
        ("stapydummy__ko", "true", "empty command"),
    ],
)
def test_what_cannot_be_repeated(
    tree: Path, folder: Path, target: str, text: str, reason: str
) -> None:
    with pytest.raises(CaptureError, match=reason):
        _CommandReader(tree, leave(folder, **{target: text})).read()


def test_template() -> None:
    text, versions = _template(MOD_C)
    assert versions
    assert "____versions" not in text
    assert "depends" not in text
    assert "KBUILD_MODNAME" not in text
    assert text.count("STAPY_MODULE_NAME") == 2


@pytest.mark.parametrize(
    "text", ["static const char __version_ext_names[] = {};", "nothing known\n"]
)
def test_unknown_template(text: str) -> None:
    with pytest.raises(CaptureError):
        _template(text)


def test_fill() -> None:
    words = ["cc", "@INPUTS@", "-o@OUTPUT@", "@OUTPUT@", "@other@"]
    filled = fill(words, INPUTS=["a", "b"], OUTPUT="x")
    assert filled == ["cc", "a", "b", "-ox", "x", "@other@"]

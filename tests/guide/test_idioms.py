"""The tables of the pages for users of other tracers: stapy's side of each row is translated."""

from __future__ import annotations

import shlex

import pytest

from stapy.cli import parse
from stapy.options import Options
from stapy.session import examples
from stapy.tools.check import checked
from tests.guide import pages
from tests.guide.test_scripts import kernel
from tests.vm.harness import releases

pytestmark = pytest.mark.slow
PAGES = ("from-bpftrace.md", "from-dtrace.md", "from-ftrace-perf.md")
OF_COMMANDS = (*PAGES, "from-bcc.md")  # that one has no expressions: scripts look like bpftrace's
GLOBALS = """\
global n = 0, by, since, stat, spread, times
probe never { by["a"] = since[1] = n; stat <<< n; spread <<< n; times["a"] <<< n; println(n) }
"""
WHOLE = {
    "point": "probe {} {{ next }}",
    "expression": 'probe kernel.function("vfs_read").return {{ println({}) }}',
    "statement": 'probe kernel.function("vfs_read").return {{ {} }}',
}


def script(idiom: pages.Idiom) -> str:
    """Write the script that an idiom is a part of."""
    if "$regs" in idiom.code:
        return f"probe syscall.execve {{ {idiom.code} }}"
    return WHOLE[idiom.kind].format(idiom.code)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("release", releases() or ["none"])
def test_idioms_are_translated(page: str, release: str) -> None:
    there = kernel(release)
    found = [one for one in pages.idioms(page) if one.kind != "command"]
    assert {one.kind for one in found} == set(WHOLE)
    text = GLOBALS + "".join(f"{script(one)} # {one.place}\n" for one in found if is_code(one))
    told = checked(page, text, there, parse(["-g", "-w", "-c/bin/date", "--color=never", "-e", ""]))
    assert not told.status(strict=False), "".join(one.text for one in told.messages if one.is_error)


def is_code(idiom: pages.Idiom) -> bool:
    """Tell code from options and files that a cell names."""
    return not idiom.code.startswith("-") and idiom.code != '""'


@pytest.mark.parametrize("page", OF_COMMANDS)
def test_commands_are_translated(page: str) -> None:
    there = kernel((releases() or ["none"])[-1])
    failed = []
    for idiom in pages.idioms(page):
        if idiom.kind != "command":
            continue
        program, *words = shlex.split(idiom.code)
        assert program == "stapy", idiom
        if words[0] == "--example":
            assert words[1] in {one.name for one in examples.gallery()}, idiom
            continue
        if words[0] in ("-l", "-L"):
            words = ["-e", f"probe {words[1]} {{ next }}"]
        options: Options = parse(["-w", "--color=never", *words])
        text, options.script_text = options.script_text, ""
        assert text, idiom
        outcome = checked(idiom.place, text, there, options)
        if outcome.status(strict=False):
            failed += [idiom.place, *(one.text for one in outcome.messages)]
    assert not failed, "\n".join(failed)

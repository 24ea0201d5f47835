"""Lists of ``-l`` that were asked for before: they come back with what was said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cache import Cache
from tests.debuginfo.user.sources import built, compiled, run
from tests.program import run_stapy

pytestmark = pytest.mark.slow

# The kernel puts no breakpoint on a lock prefix.
SOURCE = """
	.text
	.globl main, first, second
	.type first, @function
first:	lock incl (%rdi)
	ret
	.size first, .-first
	.type second, @function
second:	nop
main:	ret
	.size second, .-second
	.section .note.GNU-stack, "", @progbits
"""


@pytest.mark.parametrize("form", ["rich", "short", "json"])
def test_a_list_with_a_warning_is_kept(tmp_path: Path, form: str) -> None:
    """It is not made again: what was kept is shown, here with a mark of ours, and the warning."""
    (tmp_path / "program.s").write_text(SOURCE)
    program = built(tmp_path / "program", str(tmp_path / "program.s"))
    pattern = f'process("{program}").function("[fs][ie]*")'
    words = ("-l", pattern, f"--message-format={form}")
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    first = run_stapy(*words, env=cache)
    assert first.stdout == f'process("{program}").function("second")\n', first.stderr
    assert "W0691" in first.stderr
    names = [row.name for row in (tmp_path / "stapy/lists").rglob("*") if row.is_file()]
    (key,) = (name for name in names if "." not in name)  # beside it is its check sum
    kept = Cache(tmp_path / "stapy")
    kept.put_bytes("lists", key, (kept.get_bytes("lists", key) or b"") + b"kept\n")
    again = run_stapy(*words, env=cache)
    assert (again.stdout, again.stderr) == (first.stdout + "kept\n", first.stderr)


LIBRARY = """
__attribute__((noinline)) int inside(int n) { volatile int m = n; return m + 1; }
int outside(int n) { return inside(n) * 2; }
"""
PLACES = ("debug/.build-id", "beside", ".debug", "debug/below", "another folder")


@pytest.mark.parametrize("place", PLACES)
def test_a_debug_package_that_comes_and_goes(tmp_path: Path, place: str) -> None:
    """What was listed before it came is not given afterwards, nor the other way round."""
    path = compiled(tmp_path, LIBRARY, "-g", "-O2", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef")
    whole, link = tmp_path / "whole", path.with_name("program.debug")
    run("objcopy", "--only-keep-debug", str(path), str(link))
    run("strip", str(path))
    if place != PLACES[0]:
        run("objcopy", "--remove-section=.note.gnu.build-id", str(path))
        run("objcopy", "--remove-section=.note.gnu.build-id", str(link))
        run("objcopy", f"--add-gnu-debuglink={link}", str(path))
    link.rename(whole)
    target = {
        PLACES[0]: tmp_path / "debug/.build-id/ab/cdef.debug",
        "beside": link,
        ".debug": tmp_path / ".debug/program.debug",
        "debug/below": tmp_path / "debug" / str(tmp_path).lstrip("/") / link.name,
        "another folder": tmp_path / "other" / str(tmp_path).lstrip("/") / link.name,
    }[place]
    variables = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "SYSTEMTAP_DEBUGINFO_PATH": str(tmp_path / "debug"),
    }

    def listed() -> list[str]:
        found = run_stapy("-l", f'process("{path}").function("*side")', env=variables)
        assert found.returncode == 0 and not found.stderr, found.stderr
        return [line.rpartition("function")[2] for line in found.stdout.splitlines()]

    by_symbols = ['("inside")', '("outside")']
    assert sorted(listed()) == by_symbols
    target.parent.mkdir(parents=True, exist_ok=True)
    whole.rename(target)
    if place == "another folder":
        variables["SYSTEMTAP_DEBUGINFO_PATH"] = str(tmp_path / "other")
    assert all("program.c:" in line for line in listed()) and len(listed()) == 2
    target.unlink()
    assert sorted(listed()) == by_symbols

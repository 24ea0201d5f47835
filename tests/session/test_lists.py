"""Lists of ``-l`` that were asked for before: they come back with what was said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cache import Cache
from tests.debuginfo.user.sources import built
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

"""What a handler that may run once more must not do twice."""

from __future__ import annotations

import pytest

from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.tables.changes import changes
from tests.translate.support import options_of, program_of

NEITHER, AFTER, BEFORE = (False, False), (False, True), (True, False)
POINT = 'probe kernel.function("vfs_read")'
IMPURE = "function f:long(x:long) %{ STAP_RETVALUE = 0; %}"
CASES = [
    (f"{POINT} {{ n = 1 println(n) }}", p.Evaluate, [NEITHER, NEITHER]),
    (f"global n {POINT} {{ n = pid() }}", p.Evaluate, [AFTER]),
    (f"global n {POINT} {{ x = n++ println(x) }}", p.Evaluate, [BEFORE, NEITHER]),
    (f"{IMPURE} {POINT} {{ f(1) }}", p.Evaluate, [AFTER]),
    (f"function f:long(x:long) {{ if (x) next return x }} {IMPURE} {POINT} {{ f(1) }}",
     p.Evaluate, [AFTER]),
    (f"{POINT}.return {{ println(@entry(pid())) }}", p.SaveEntry, [NEITHER]),
    (f"global n {POINT}.return {{ println(@entry(n++)) }}", p.SaveEntry, [BEFORE]),
    (f"global n {POINT} {{ if (n++) exit() }}", p.If, [BEFORE]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "expected"), CASES)
def test_changes(text: str, kind: type, expected: list[tuple[bool, bool]]) -> None:
    program, _ = program_of(text, options=options_of("-g"))
    handler = next(one.entry or one.handler for one in program.probes if "vfs_read" in str(one))
    found = [changes(node) for node in walk(handler.body) if isinstance(node, kind)]
    assert found == expected

"""How pages are read, and what counts as the same shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guide import pages
from tests.guide.shape import differs
from tests.vm.test_guide import commands

PAGE = """\
Text.

<!-- args: -c 'echo a b' -->
```stap
probe begin { println("x") }
```

prints

```text
x
```

```stap refused
probe nothing { }
```

| other | stapy: point |
|---|---|
| `a \\| b` | `begin`, ``x("`") `` |
"""


def test_blocks_and_idioms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    first, second = pages.scripts("page.md")
    assert (first.place, first.words, first.shown) == ("docs/page.md:4", ["-c", "echo a b"], "x\n")
    assert (second.marks, second.words, second.shown) == (["refused"], [], None)
    found = [(one.kind, one.code) for one in pages.idioms("page.md")]
    assert found == [("point", "begin"), ("point", 'x("`")')]


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("a 12 b\n", "a    3 b\n", True),
        ("a 12 b\n", "a x b\n", False),
        ("a 12 b\n", "a 1 b\na 2 b\n", False),
        ("a 1\na 2\nb\n", "a 3\nb\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nb\nc\n", False),
        ("at 0xff81+0x3 …\n", "at 0x1+0x33 and more\n", True),
        ("   8 |@@@   3\n  16 |   0\n", "1024 |        0\n", True),
        ("   8 |@@@   3\n", "8: 3\n", False),
        ("a 1\n", "a 1\nERROR: no\n", False),
        ("", "", True),
        ("", "a\n", False),
    ],
)
def test_shape(shown: str, printed: str, alike: bool) -> None:
    assert (differs(shown, printed) == "") is alike


def test_every_block_of_the_tutorial_is_executed() -> None:
    """Each is a script that a command runs, or commands; none is code that nobody tries."""
    asked = commands("tutorial.md")
    run = {text for one in asked for name, text in one.files.items() if name in one.words}
    lines = 0
    for block in pages.blocks("tutorial.md"):
        assert block.language in ("stap", "console"), block.place
        assert block.language == "console" or block.text in run, block.place
        assert block.language == "stap" or block.text.startswith("# "), block.place
        lines += block.language == "console" and f"\n{block.text}".count("\n# ")
    assert len(asked) == lines

"""The prompt over a kernel's debug information, with a small kernel on disk."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from stapy.tools import prompt
from tests.debuginfo.world import make_debuginfo, make_kernel


@pytest.fixture
def names(tmp_path: Path) -> dict[str, Any]:
    kernel = make_kernel(tmp_path)
    return prompt.names_of(kernel, make_debuginfo(tmp_path, kernel))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("kernel.release", "6.1.0-test-amd64"),
        ("[site.name for site in info.functions('vfs_r*')]", "vfs_read"),
        ("info.type('int')", "int"),
        (
            "info.type('struct task')",
            "struct task { /* 8 bytes */\n  /*     0 */ int pid;\n  /*     4 */ int tgid;\n}",
        ),
        ("fact('HRTIMER_SETUP')", "HRTIMER_SETUP: no (Module.symvers)"),
    ],
)
def test_expressions(names: dict[str, Any], expression: str, expected: str) -> None:
    assert prompt.shown(eval(expression, names)) == expected


def test_all_facts_have_an_origin(names: dict[str, Any]) -> None:
    rows = names["fact"]().splitlines()
    assert len(rows) > 20 and all(" (" in row and row.endswith(")") for row in rows)
    assert names["fact"]("STAPY_HAVE_HRTIMER_SETUP") in rows
    with pytest.raises(LookupError, match="called 'HRTIMER_SETUPS'; did you mean 'HRTIMER_SETUP'"):
        names["fact"]("HRTIMER_SETUPS")


def test_the_prompt_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = make_kernel(tmp_path)
    monkeypatch.setattr(prompt, "find_kernel", lambda *_: kernel)
    monkeypatch.setattr("sys.stdin", io.StringIO("print(info.kernel.arch)\n"))
    assert prompt.main([]) == 0
    captured = capsys.readouterr()
    assert "x86_64" in captured.out and "kernel 6.1.0-test-amd64" in captured.err
    assert prompt.main(["kernel.version[0]", "kernel.arch"]) == 0
    assert capsys.readouterr().out == "6\nx86_64\n"
    assert prompt.main(["kernel.nothing", "1 +", "kernel.arch"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "x86_64\n" and "Traceback" not in captured.err
    assert [line.partition(" ")[0] for line in captured.err.splitlines()] == ["ERROR:", "ERROR:"]
    assert "ERROR: kernel.nothing: AttributeError: " in captured.err


def test_a_kernel_that_is_not_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert prompt.main(["-r", "1.2.3-absent", "kernel"]) == 1
    assert "1.2.3-absent" in capsys.readouterr().err

"""Every field of the records that a command line fills is read by somebody else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stapy.options import Options
from stapy.run.options import RunOptions

STAPY = Path(__file__).resolve().parents[2] / "stapy"
# Those that fill the records: what they look at, they look at to fill in more.
FILLING = {"cli/option.py", "cli/parsing.py", "cli/start.py", "options/__init__.py",
           "options/setters.py", "run/options.py", "run/command_line.py"}  # fmt: skip
# What they look at for its own sake: a second privilege and a second architecture are refused, an
# editor has no session.
FOR_FILLING = {"privilege_set", "architecture_by", "language_server"}


def read_below(folder: Path) -> set[str]:
    """Find the names that are read of anything that is called options."""
    found = set()
    for path in folder.rglob("*.py"):
        if str(path.relative_to(STAPY)) in FILLING:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                holder = node.value
                name = holder.attr if isinstance(holder, ast.Attribute) else None
                name = holder.id if isinstance(holder, ast.Name) else name
                if name in ("options", "_options"):
                    found.add(node.attr)
    return found


@pytest.mark.parametrize("record, folder", [(Options, STAPY), (RunOptions, STAPY / "run")])
def test_every_field_is_read(record: type, folder: Path) -> None:
    fields = getattr(record, "fields", None) or record.__dict__["__slots__"]
    assert len(fields) > 10
    assert set(fields) - read_below(folder) <= FOR_FILLING

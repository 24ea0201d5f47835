"""Every field of `Options` is read by somebody, and the table says which shape a module."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path

import pytest

import stapy
from stapy.cache import results
from stapy.cli import parse
from stapy.options import Options, foreign
from stapy.options.option import Option, UsageError
from stapy.options.table import RUN_ONLY, TABLE

HOME = Path(stapy.__file__).parent


def fields_read() -> set[str]:
    found: set[str] = set()
    for path in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)):
                continue
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name == "options":
                found.add(node.attr)
    return found


def test_each_field_is_read() -> None:
    assert sorted(set(Options.fields) - fields_read()) == []


def test_the_column_names_fields() -> None:
    assert sorted(RUN_ONLY - set(Options.fields)) == []


def changed(field: str) -> Options:
    """Return options with another value of one field."""
    options = Options()
    value = getattr(options, field)
    if isinstance(value, bool):
        other: object = not value
    elif isinstance(value, list):
        other = [*value, 7]
    elif isinstance(value, dict):
        other = {"name": "1"}
    else:
        other = "another"
    setattr(options, field, other)
    return options


# What -G may set, and whether warnings were drawn, stand in the key on their own.
APART = {"globals", "suppress_warnings"}


@pytest.mark.parametrize("field", Options.fields)
def test_the_key_has_what_shapes_a_module(field: str) -> None:
    same = results.text_key(Options(), []) == results.text_key(changed(field), [])
    assert same is (field in RUN_ONLY - APART)


def told_for_hosts() -> set[str]:
    """Read which options the table of `docs/reach.md` tells of, without their values."""
    text = (HOME.parent / "docs/reach.md").read_text()
    table = text.partition("| option | with `--remote` |")[2].partition("\n\n")[0]
    names = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    return set(re.findall(r"`(--[a-z][\w-]*|-[a-zA-Z])", " ".join(names)))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.long or row.short)
def test_the_page_tells_what_an_option_means_on_other_hosts(row: Option) -> None:
    """What shapes a module means the same everywhere; the rest is for somebody to have done."""
    told = told_for_hosts()
    if not row.run or row.run == "remotes" or row.long == "remote-prefix":
        return
    # Rows of options with one beginning: `--rlimit-…`.
    known = {f"-{row.short}", f"--{row.long}", f"--{row.long.partition('-')[0]}-"} & told
    assert known, f"docs/reach.md, 'What options mean', lacks -{row.short or '-' + row.long}"


def set_by(row: Option) -> set[str]:
    """Find the fields that an option sets, tried with values of several kinds."""
    found: set[str] = set()
    for value in ("", "1", "10", "a=1", "/", "always", "json", "stapsys", "1.0"):
        options = Options()
        with contextlib.suppress(UsageError):
            row.set(options, value)
        plain = Options()
        found |= {name for name in Options.fields if getattr(options, name) != getattr(plain, name)}
    return found


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.long or row.short)
def test_a_row_names_what_it_sets_for_the_run_only(row: Option) -> None:
    assert sorted(row.run.split()) == sorted(set_by(row) & RUN_ONLY)


# Scripts and probe points, of which pass 1 says that they are empty.
PARSED = {"e", "E", "l", "L"}
WITH_VALUE = [row for row in [*TABLE, *foreign.TABLE] if row.value and row.short not in PARSED]


@pytest.mark.parametrize("row", WITH_VALUE, ids=lambda row: row.long or row.short)
def test_an_empty_value_is_none(row: Option) -> None:
    """Such as that of ``--sign-module="$KEY"`` where the variable is not set."""
    words = [f"--{row.long}="] if row.long else [f"-{row.short}", ""]
    with pytest.raises(UsageError):
        parse([*words, "x.stp"])


OPTIONAL = [row for row in TABLE if row.value.startswith("[")]


@pytest.mark.parametrize("row", OPTIONAL, ids=lambda row: row.long)
def test_an_optional_value_is_left_out_whole(row: Option) -> None:
    parse([f"--{row.long}", "x.stp"])
    with pytest.raises(UsageError, match=f"'--{row.long}=' has an empty value: give [A-Z]+, or"):
        parse([f"--{row.long}=", "x.stp"])

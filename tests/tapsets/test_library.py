"""Rules that every file of the library keeps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap, foreign_expressions
from stapy.diagnostics.habits import FUNCTIONS, VARIABLES
from stapy.parse import nodes as n
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library import Library
from stapy.parse.tokens import PRINTERS
from stapy.paths import data_dir

ROOT = data_dir("tapsets")
FILES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.stp"))
LANGUAGES = Path(__file__).parents[1] / "vm" / "languages"
SCRIPTS = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in (Path(__file__).parent, LANGUAGES)
    for path in sorted(folder.glob("*.stp"))
)
USED = set(re.findall(r"\w+", SCRIPTS))

# What cannot be called in a guest that must live on, or asks for what guests lack.
NOT_CALLED = frozenset(
    {
        "dump_stack",
        "ftrace",
        "mdelay",
        "panic",
        "printk",
        "switch_file",
        "system",
        "udelay",
    }
)


@pytest.fixture(scope="module", params=["5.10.0", "6.1.0", "6.12.0"])
def library(request: pytest.FixtureRequest) -> Library:
    sources = SourceMap()
    facts = PreprocessFacts(kernel_release=request.param)
    return Library([str(ROOT)], facts, None, sources, Diagnostics(sources))


@pytest.mark.parametrize("path", FILES, ids=str)
def test_file(path: Path, library: Library) -> None:
    script = library.load(str(ROOT / path))
    assert not library.diagnostics.errors
    assert script is not None
    for decl in script.decls:
        if (
            isinstance(decl, n.FunctionDecl)
            and not decl.is_private
            and not decl.name.startswith("__")
        ):
            check_function(decl)


def check_function(decl: n.FunctionDecl) -> None:
    """Check that a public function says what it does and what each argument is."""
    assert re.search(rf"\b{decl.name} - \S", decl.doc), f"{decl.name}() has no description"
    for param in decl.params:
        assert f"@{param.name}:" in decl.doc, f"{decl.name}(): @{param.name} is not described"


def public(library: Library) -> set[str]:
    return {name for name in library.function_names() if not name.startswith("__")}


def test_every_function_is_used_by_a_script(library: Library) -> None:
    assert public(library) - USED - NOT_CALLED == set()


def test_every_alias_is_used_by_a_script(library: Library) -> None:
    names = {
        ".".join(components)
        for components, path in library.alias_names()
        if ".table#" not in path and not components[0].startswith(("__", "dw_", "tp_"))
    }
    # Those of JNI, of which no program calls all, are in test_languages.py one by one.
    missing = {name for name in names if name not in SCRIPTS}
    assert {name for name in missing if not name.startswith("hotspot.jni.")} == set()


def test_hints_name_functions_that_exist(library: Library) -> None:
    """What users of other tracers are told to call can be called."""
    others = vars(foreign_expressions).items()
    tables = [table for name, table in others if name.isupper() and isinstance(table, dict)]
    told = " ".join(text for table in (VARIABLES, FUNCTIONS, *tables) for text in table.values())
    named = set(re.findall(r"(?<![@\w])([a-z_]\w+)\(", told))
    assert named - set(library.function_names()) - set(PRINTERS) == set()

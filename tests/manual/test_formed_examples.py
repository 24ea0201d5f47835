"""Examples that are formed for named points: each is a probe that each kernel's passes accept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.manual.entries import ALIAS, DocArgument, DocEntry
from stapy.manual.example import example, formed
from stapy.manual.library import Reference, open_reference
from stapy.options import Options
from stapy.parse.doc_comment import DocComment
from stapy.record import replace
from stapy.session.check import Check
from tests.vm.harness import releases

if TYPE_CHECKING:
    from stapy.ir.program import Program
    from stapy.parse.nodes import Script
    from stapy.services import Services

LEAST = 700  # of the points that resolve on a kernel, of others no module or program may be here
_VALUE = {"string": '"x"', "long": "1"}


class Translation(Check):
    """A check that keeps the program."""

    program: Program | None = None

    def elaborate(self, scripts: list[Script], services: Services) -> Program:
        """Pass 2."""
        self.program = super().elaborate(scripts, services)
        return self.program


@pytest.fixture(scope="module")
def reference() -> Reference:
    return open_reference()


def entries(reference: Reference, *, of_tables: bool) -> list[DocEntry]:
    """List the named points of scripts, or of tables, whose comments have no example."""
    return [
        entry
        for path in reference.files()
        if ("#" in path) == of_tables
        for entry in reference.of_file(path)
        if entry.kind == ALIAS and "Example" not in entry.doc.sections
    ]


def optional(text: str) -> str:
    """Let a probe be left out where its point is not."""
    return text.replace(" {", " ? {", 1)


def body_alone(entry: DocEntry) -> str:
    """Write the example's statement where its variables have the types that the page names."""
    statement = formed(entry).partition("{")[2].rpartition("}")[0].strip()
    known = {one.name: one.type for one in entry.arguments}
    used = [one for one in known if re.search(rf"[ ,]{one}\b(?!\()", statement)]
    given = " ".join(f"{one} = {_VALUE[known[one]]}" for one in used)
    return f"probe begin {{ {given} {statement} }}"


def translated(release: str, script: str) -> Translation:
    kernel = find_kernel(release, Diagnostics(SourceMap()))
    options = replace(Options(), suppress_warnings=True, message_format="short")
    check = Translation(options, "examples.stp", script)
    check.translate_for(kernel)
    assert [one.text for one in check.messages] == []
    return check


def resolved(check: Translation) -> set[str]:
    assert check.program is not None
    return {one.written for one in check.program.probes}


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("release", releases())
def test_formed_examples_are_accepted(release: str, reference: Reference) -> None:
    """Each that resolves, and the statement of each with the variables that its page names."""
    found = entries(reference, of_tables=False)
    # What the page names does not depend on the kernel.
    bodies = dict.fromkeys(map(body_alone, found)) if release == releases()[-1] else {}
    script = "\n".join([*(optional(formed(one)) for one in found), *bodies])
    assert len(resolved(translated(release, script))) > LEAST


@pytest.mark.build
@pytest.mark.slow
def test_those_of_system_calls_are_accepted(reference: Reference) -> None:
    """Of one spelling: those of the others are the same but for the name."""
    found = {one.name: formed(one) for one in entries(reference, of_tables=True)}
    calls = {name: text for name, text in found.items() if name.startswith("syscall.")}
    for name, text in found.items():
        plain = re.sub(r"^\w+_syscall\.", "syscall.", name)
        if plain in calls:
            said, other = (re.sub(r"\s+", " ", one) for one in (text, calls[plain]))
            assert said.replace(name, plain) == other
    script = "\n".join(optional(text) for text in calls.values())
    assert len(resolved(translated(releases()[-1], script))) > LEAST


# --- how they are formed ----------------------------------------------------------


def point(point_name: str, /, **meanings: str) -> DocEntry:
    """Make a named point with numbers, and with texts where a meaning says so."""
    rows = [
        DocArgument(one, "string" if what.startswith("text") else "long", what)
        for one, what in meanings.items()
    ]
    return DocEntry(ALIAS, point_name, "x.stp", DocComment([point_name], ""), arguments=rows)


@pytest.mark.parametrize(
    ("entry", "statement"),
    [
        (point("a.b"), r'"%s(%d)\n", execname(), pid()'),
        (point("a.b", name="text"), r'"%s %s(%d)\n", name, execname(), pid()'),
        (point("a.b", name="text", size="in bytes"), r'"%s size=%d\n", name, size'),
        (
            point("a.b", fd="it", name="text", argstr="text"),
            r'"%s: %s(%s)\n", execname(), name, argstr',
        ),
        (point("a.b.return", name="text", ret="it", retstr="text"), r'"%s = %s\n", name, retstr'),
        (point("a.b.return", retval="it"), r'"%s(%d) = %d\n", execname(), pid(), retval'),
        (point("a.b", p="address of it", n="number"), r'"n=%d\n", n'),
        (point("a.b", p="address of it"), r'"p=%p\n", p'),
        (point("a.b", f="flags", f_str="text"), r'"f_str=%s\n", f_str'),
        (point("a.b", m="mask of CPUs"), r'"m=0x%x\n", m'),
        (
            point("a.b", saddr="text", sport="port", daddr="text", dport="port", x="it"),
            r'"%s:%d -> %s:%d\n", saddr, sport, daddr, dport',
        ),
        (
            point("a.b", saddr="text", sport="port", daddr="text", dport="port", size="in bytes"),
            r'"%s:%d -> %s:%d size=%d\n", saddr, sport, daddr, dport, size',
        ),
        (
            point("a.b", **dict.fromkeys("uvwxyz", "it")),
            r'"u=%d v=%d w=%d x=%d\n", u, v, w, x',
        ),
    ],
)
def test_what_is_printed(entry: DocEntry, statement: str) -> None:
    assert example(entry) == f"probe {entry.name} {{ printf({statement}) }}"


def test_a_long_one_is_broken() -> None:
    """No line is longer than pages are wide."""
    entry = point(
        "a_rather_long_name_of_a_point.and_more", first_variable="it", second="it", t="it"
    )
    lines = example(entry).split("\n")
    assert lines[0] == f"probe {entry.name} {{" and lines[2] == "}"
    assert max(map(len, lines)) <= 92


def test_the_comment_comes_first() -> None:
    entry = point("a.b", size="it")
    entry.doc.sections["Example"] = "probe a.b { println(size) }"
    assert example(entry) == "probe a.b { println(size) }"

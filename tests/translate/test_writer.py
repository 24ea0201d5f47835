"""White space, literals and names of generated C."""

from __future__ import annotations

import pytest

from stapy.translate.c.names import Names, usable
from stapy.translate.c.text import as_s64, comment, identifier, number, string_literal, verbatim
from stapy.translate.c.writer import CWriter, wrap

LITERALS = [
    ("plain", '"plain"'),
    ('say "hi"\\', r'"say \"hi\"\\"'),
    ("a\tb\nc\r", r'"a\tb\nc\r"'),
    ("\x01\x7f\xff7", r'"\001\177\3777"'),
    ("", '""'),
]


@pytest.mark.parametrize(("text", "literal"), LITERALS)
def test_string_literal(text: str, literal: str) -> None:
    assert string_literal(text) == literal


NUMBERS = [
    (0, "0"),
    (-5, "-5"),
    (0x7FFFFFFF, "2147483647"),
    (0x80000000, "2147483648LL"),
    (-(1 << 63), "S64_MIN"),
    ((1 << 63) - 1, "9223372036854775807LL"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_number(value: int, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("value", "wrapped"), [(1 << 63, -(1 << 63)), (-1, -1), (1 << 64, 0)])
def test_wrap_to_64_bits(value: int, wrapped: int) -> None:
    assert as_s64(value) == wrapped


def test_comments_cannot_end_early() -> None:
    assert comment("a */ b /* c\n d") == "/* a * / b / * c d */"
    assert len(comment("x" * 500)) <= 100
    assert comment("caf\xe9") == "/* caf? */"


def test_embedded_text_is_written_as_it_was_read() -> None:
    assert verbatim("/* \xc3\xa9 */", is_library=False) == "/* é */"
    assert verbatim("/* é */", is_library=True) == "/* é */"


WORDS = [
    ("count", "count"),
    ("int", "int_"),
    ("current", "current_"),
    ("sk_state", "sk_state_"),
    ("HZ", "HZ_"),
    ("c", "c_"),
    ("f_x", "f_x_"),
    ("reads", "reads_"),
    ("inb", "inb_"),
    ("__x", "__x_"),
    ("latency", "latency"),
]


@pytest.mark.parametrize(("name", "expected"), WORDS)
def test_names_that_the_kernel_uses(name: str, expected: str) -> None:
    assert usable(name) == expected


def test_names_are_unique() -> None:
    names = Names()
    assert [names.make("x"), names.make("x"), names.make("x_2")] == ["x", "x_2", "x_2_2"]
    assert identifier("vfs-read.ret") == "vfs_read_ret"
    assert identifier("9lives") == "_9lives"


def test_blocks_lose_braces_around_one_statement() -> None:
    out = CWriter()
    with out.block("if (x)"):
        out.line("y = 1;")
    with out.block("if (x)"):
        out.line("y = 1;")
        out.line("z = 1;")
    assert out.text() == "if (x)\n\ty = 1;\nif (x) {\n\ty = 1;\n\tz = 1;\n}\n"


def test_a_label_before_a_closing_brace_gets_a_statement() -> None:
    out = CWriter()
    out.open("for (;;)")
    out.label("step_1")
    out.close()
    assert out.text() == "for (;;) {\nstep_1: ;\n}\n"


def test_blank_lines_are_never_doubled() -> None:
    out = CWriter()
    out.open("")
    out.blank()
    out.line("a;")
    out.blank()
    out.blank()
    out.line("b;")
    out.close()
    assert out.text() == "{\n\ta;\n\n\tb;\n}\n"


def test_long_lines_break_at_arguments_outside_of_strings() -> None:
    text = 'call(first_argument_that_is_long, "a string, with, commas, that must stay whole", ' + (
        "third_argument_that_is_long, fourth);"
    )
    lines = wrap(text, 1)
    assert len(lines) == 2
    assert all(len(line.expandtabs(8)) <= 100 for line in lines)
    assert lines[0].startswith("\tcall(") and lines[0].endswith(",")
    assert lines[1].startswith("\t\t\t")
    assert "".join(line.strip() + " " for line in lines).strip() == text


def test_a_string_is_never_broken() -> None:
    text = "x(" + string_literal("word, " * 40) + ");"
    assert "".join(wrap(text, 0)) == text

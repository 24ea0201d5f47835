"""Comments before functions and aliases, taken apart."""

from __future__ import annotations

from stapy.parse.comments import doc_before
from stapy.parse.doc_comment import parse_comment, shared_variables

COMMENT = """\
/**
 * sum - what two numbers are
 * together
 * @a: one number
 * @b: the other one,
 *     in bytes
 *
 * First paragraph
 * goes on.
 *
 * Second one. Context: any
 * Context: an interrupt, or
 * what it interrupted
 * See: product
 *
 * Example: probe end {
 *            @a: no argument
 *              println(sum(1, 2))
 *          }
 */
"""


def test_all_parts() -> None:
    doc = parse_comment(doc_before(COMMENT, len(COMMENT)))
    assert doc.names == ["sum"]
    assert doc.summary == "what two numbers are together"
    assert doc.arguments == {"a": "one number", "b": "the other one, in bytes"}
    assert doc.paragraphs == ["First paragraph goes on.", "Second one. Context: any"]
    assert doc.sections["Context"] == "an interrupt, or what it interrupted"
    assert doc.sections["See"] == "product"
    assert doc.sections["Example"].split("\n") == [
        "probe end {",
        "  @a: no argument",
        "    println(sum(1, 2))",
        "}",
    ]


def test_names() -> None:
    for head, names in (
        ("f - it", ["f"]),
        ("a.b.return - it", ["a.b.return"]),
        ("a, b - they", ["a", "b"]),
        ("@m - it", ["@m"]),
        ("This is about f.", []),
        ("f: it", []),
        ("", []),
    ):
        assert parse_comment(head).names == names, head


def test_variables_of_a_file() -> None:
    text = "What it is about.\n\n@dev: the device\n@ino: the inode\nof the file\n"
    assert shared_variables(text) == {"dev": "the device", "ino": "the inode of the file"}

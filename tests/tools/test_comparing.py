"""``stapy test``: what came is compared with what a case expects, and how that is told."""

from __future__ import annotations

import pytest

from stapy.testing import companion, comparing
from stapy.testing.companion import Pattern
from stapy.testing.running import Ending

LINE, PART, RE = ("line", "part", "re")


def case_of(**fields: object) -> companion.TestCase:
    return companion.TestCase("x", "a.stp", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "out", "err", "told"),
    [
        ({"expect": [Pattern(LINE, "a"), Pattern(RE, "^b+$")]}, "a  \nx\nbbb\n", "", ""),
        ({"expect": [Pattern(PART, "b")]}, "abc\n", "", ""),
        ({"expect": [Pattern(LINE, "b")]}, "abc\n", "",
         "1 of 1 expected line did not come on standard output:|- b|+ abc"),
        # In order: what comes before does not count, and what is missing holds up no other.
        ({"expect": [Pattern(LINE, "b"), Pattern(LINE, "a")]}, "a\nb\n", "",
         "1 of 2 expected lines did not come on standard output:|+ a|  b|- a"),
        ({"expect": [Pattern(LINE, "a"), Pattern(RE, "q"), Pattern(LINE, "c")]}, "a\nb\nc\n", "",
         "1 of 3 expected lines did not come on standard output:|  a|- /q/|+ b|  c"),
        # One line is not two.
        ({"expect": [Pattern(LINE, "a"), Pattern(LINE, "a")]}, "a\n", "",
         "1 of 2 expected lines did not come on standard output:|  a|- a"),
        ({"expect": [Pattern(LINE, "q")]}, "".join(f"{n}\n" for n in range(9)), "",
         "1 of 1 expected line did not come on standard output:|- q|+ 0|+ 1|+ 2|+ 3|+ 4|"
         "  … 4 more lines"),
        ({"stderr": [Pattern(LINE, "b"), Pattern(LINE, "a")]}, "", "a\nb\n", ""),
        ({"stderr": [Pattern(PART, "q"), Pattern(LINE, "a")]}, "", "a\n",
         "1 of 2 expected lines did not come on standard error:|- …q…|+ a"),
        ({"never": [Pattern(RE, "b")]}, "a\n", "a\n", ""),
        ({"never": [Pattern(RE, "b")]}, "a\nb\n", "",
         "lines that must not come are on standard output:|+ b   (line 2, is /b/)"),
        ({"never": [Pattern(RE, "b")]}, "", "b\n",
         "lines that must not come are on standard error:|+ b   (line 1, is /b/)"),
        ({"output": "a\nb\n"}, "a \nb\n", "", ""),
        ({"output": "a\nb\n"}, "a\nc\n", "",
         "standard output is another one than expected:|  a|- b|+ c"),
        ({"output": ""}, "--- x\n", "", "standard output is another one than expected:|+ --- x"),
        ({"output": "a\n"}, "a\n" + "b" * 401, "",
         f"standard output is another one than expected:|  a|+ {'b' * 400}… (401 characters)"),
    ],
)  # fmt: skip
def test_comparison(fields: dict[str, object], out: str, err: str, told: str) -> None:
    found = comparing.faults(case_of(**fields), Ending(0, out, err, 1.0))
    assert "|".join("|".join([one.what, *one.lines]) for one in found) == told


def test_what_follows_from_the_first_fault_is_not_told() -> None:
    case = case_of(expect=[Pattern(LINE, "a")])
    refused = Ending(1, "", "parse error: x\nPass 1: parse failed.\n", 1.0)
    (fault,) = comparing.faults(case, refused)
    assert fault.what == ("the exit status is 1, expected 0: no module was made (pass 1);"
                          " on standard error:")  # fmt: skip
    assert fault.lines == ["+ parse error: x", "+ Pass 1: parse failed."]
    assert len(comparing.faults(case, Ending(1, "b\n", "", 1.0))) == 2

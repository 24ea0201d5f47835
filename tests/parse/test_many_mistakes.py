"""Each of thousands of mistakes in one line takes the time of one among few."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from stapy.cli import main
from stapy.parse.landmarks import DECLARATIONS, Landmarks
from stapy.parse.tokens import Token

if TYPE_CHECKING:
    from collections.abc import Callable

WRONG = ["if (x y) ", "for (x y; ", "f(1 2); ", "x ? y z; ", "} probe a, { x y ", "if (x y) { ",
         "; } probe a, {b}, {b}, {b} { x = "]  # fmt: skip
KINDS = ["LPAREN", "RPAREN", "LBRACE", "RBRACE", "COMMA", "SEMI", "QUESTION", "COLON", "ARROW",
         "PROBE", "IDENT", "IDENT"]  # fmt: skip


def took(body: str, times: int, form: str, capsys: pytest.CaptureFixture[str]) -> float:
    """Return the processor time that so many mistakes take."""
    began = time.process_time()
    main(["-p1", f"--message-format={form}", "-e", f"probe begin {{ {body * times} }}"])
    needed = time.process_time() - began
    assert capsys.readouterr().err.count("parse error") >= times
    return needed


@pytest.mark.slow
@pytest.mark.parametrize("form", ["rich", "systemtap"])
@pytest.mark.parametrize("body", WRONG)
def test_the_time_grows_as_the_mistakes_do(
    body: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    took(body, 10, form, capsys)
    few = min(took(body, 250, form, capsys) for _ in range(2))
    many = took(body, 4000, form, capsys)
    assert many < few * 16 * 3  # each walk over all that is before would be 16 times more


# --- the same answers as walking ------------------------------------------------


def walked_brace(tokens: list[Token], last: int) -> tuple[int, bool] | None:
    depth = 0
    for at in range(last, 1, -1):
        kind = tokens[at].type
        depth += (kind == "RBRACE") - (kind == "LBRACE")
        if kind in DECLARATIONS:
            return None
        if kind == "LBRACE" and tokens[at - 1].type == "COMMA" and depth <= 0:
            return at, depth == 0
    return None


def walked_ternary(tokens: list[Token], last: int) -> bool:
    waiting = 0
    for at in range(last, 0, -1):
        kind = tokens[at].type
        if kind in ("SEMI", "LBRACE", "RBRACE"):
            break
        waiting += (kind == "QUESTION") - (kind == "COLON")
    return waiting > 0


def walked_closing(tokens: list[Token], first: int, depth: int) -> int:
    for at in range(first, len(tokens)):
        kind = tokens[at].type
        if kind in ("LBRACE", "RBRACE"):
            return 0
        if kind in DECLARATIONS and tokens[at - 1].type != "ARROW":
            return 0
        depth += (kind == "LPAREN") - (kind == "RPAREN")
        if depth == 0:
            return at
    return 0


def walked_points(tokens: list[Token], at: int) -> bool:
    depth = 0
    for index in range(at, -1, -1):
        kind = tokens[index].type
        depth += (kind == "RBRACE") - (kind == "LBRACE")
        if depth < 0 or kind in ("SEMI", *DECLARATIONS):
            return kind == "PROBE"
    return False


def walked_place(tokens: list[Token], token: Token, last: int) -> int:
    return next((at for at in range(last, -1, -1) if tokens[at] is token), -1)


def all_answers(
    tokens: list[Token],
    brace: Callable[[int], object],
    ternary: Callable[[int], object],
    closing: Callable[[int, int], object],
    place: Callable[[Token, int], object],
    points: Callable[[int], object],
) -> list[object]:
    numbers = range(len(tokens))
    return [
        *(brace(at) for at in numbers),
        *(ternary(at) for at in numbers),
        *(closing(at, depth) for at in range(1, len(tokens) + 1) for depth in (1, 2, 3)),
        *(place(token, at) for token in tokens for at in numbers),
        *(points(at) for at in numbers),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_landmarks_are_what_a_walk_finds(seed: int) -> None:
    chance = random.Random(seed)
    tokens = [
        Token(chance.choice(KINDS), "x", 0, at, at + 1) for at in range(chance.randint(1, 40))
    ]
    tokens += chance.choices(tokens, k=3)  # as a macro brings a word twice
    marks = Landmarks(tokens)
    found = all_answers(
        tokens,
        marks.brace_behind_comma,
        marks.is_ternary_open,
        marks.closing,
        marks.place,
        marks.is_in_points,
    )
    assert found == all_answers(
        tokens,
        lambda last: walked_brace(tokens, last),
        lambda last: walked_ternary(tokens, last),
        lambda first, depth: walked_closing(tokens, first, depth),
        lambda token, last: walked_place(tokens, token, last),
        lambda at: walked_points(tokens, at),
    )

"""Values of parameters: what the kernel reads is what was meant, or it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stapy.run import parameters
from stapy.run.errors import RunError


@pytest.mark.parametrize(
    ("parameter", "form"),
    [
        ("a=1", b"a=1"),
        ("a=x y", b'a="x y"'),
        ("a=", b"a="),
        ("a=b=c", b"a=b=c"),
        ("a=two\nlines", b'a="two\nlines"'),
        ("a=tab\tb", b'a="tab\tb"'),
        ("a=\u00e0 la", b'a="\xc3\xa0 la"'),
        ("a=\u00e0", b'a="\xc3\xa0"'),  # its second byte is a blank to the kernel
        ("a=\udcff", b"a=\xff"),
        ('a=x"y"z', b'a=x"y"z'),
        ('a="xy"', b'a=""xy""'),
        ("a=--", b"a=--"),
    ],
)
def test_forms(parameter: str, form: bytes) -> None:
    name, _, value = parameter.encode("utf-8", "surrogateescape").partition(b"=")
    made = parameters.quote(parameter)
    assert parameters.read(made) == [(name, value)]
    assert made == form


@pytest.mark.parametrize(
    "value", ['say "hi there" now', 'x" stapy_buffer_mb=4095 "', "a\0b", '1" b="2 3']
)
def test_values_that_the_kernel_cannot_be_given(value: str) -> None:
    try:
        made = parameters.quote(f"a={value}")
    except RunError as error:
        assert "the kernel cannot be given the value of 'a'" in str(error)
    else:
        assert parameters.read(made + b" b=1") == [(b"a", value.encode()), (b"b", b"1")]


def test_texts_of_ours_can_have_any_value() -> None:
    """What the kernel cannot be told with quotes goes as digits."""
    made = parameters.line(['a=say "hi there" now', "b=\x01", "c=d"], {"a": "text", "b": "text"})
    assert made == b"a=\x01" + b'say "hi there" now'.hex().encode() + b" b=\x0101 c=d"


@given(st.lists(st.text(st.sampled_from('ab "=\n\t\u00e0-'), max_size=12), max_size=4))
def test_a_value_never_becomes_a_parameter(values: list[str]) -> None:
    kept, words = [], []
    for number, value in enumerate(values):
        try:
            parameters.quote(f"p{number}={value}")
        except RunError:
            continue
        words.append(f"p{number}={value}")
        kept.append((f"p{number}".encode(), value.encode()))
    assert parameters.read(parameters.line(words, {})) == kept

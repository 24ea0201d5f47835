"""Macros of -D that would change what is not the user's."""

from __future__ import annotations

import pytest

from stapy.diagnostics import Stop
from stapy.session.settle import known_defines
from tests.translate.support import options_of, program_of, translated

SCRIPT = "function f:long() %{ STAP_RETURN(mine); %} probe begin { println(f()) }"


@pytest.mark.parametrize(
    ("define", "is_refused"),
    [
        ("name=3", True),  # a member in the tables of a session
        ("limits=1", True),
        ("maxaction=3", True),  # a macro of the runtime's headers expands to it
        ("stapy_context=int", True),
        ("mine=3", False),  # embedded code has it, and only that
        ("input=3", False),  # in a comment
        ("DEBUG", False),
        ("MAXACTION=3", False),
        ("STP_ALIBI", False),
    ],
)
def test_names_of_the_modules_own_c(define: str, is_refused: bool) -> None:
    program, services = program_of(SCRIPT, options=options_of(f"-g -D {define}"))
    if is_refused:
        with pytest.raises(Stop):
            translated(program, services, "test")
    else:
        assert "mine" in translated(program, services, "test").text()
    told = [(item.code, item.message.split("=")[0]) for item in services.diagnostics.errors]
    assert told == ([("E0294", "-D " + define.split("=")[0])] if is_refused else [])


def test_what_changes_the_c_around_a_script_on_purpose_is_taken() -> None:
    """A macro that the translation itself writes for ``-D``, or reads, is no clash."""
    script = 'probe kernel.function("vfs_read").return { println(1) }'
    names = sorted(known_defines())
    options = options_of("-g " + " ".join(f"-D {name}=100" for name in names))
    program, services = program_of(script, options=options)
    text = translated(program, services, "test").text()
    assert "KRETACTIVE" in text
    assert "E0294" not in {item.code for item in services.diagnostics.errors}

"""Names of system calls' arguments are told apart by call; what is known has a reason."""

from __future__ import annotations

import pytest

from tests.oracle import strace

LOG = r"""115   write(-7777, "kill 5, SIGTERM", 15) = -1 EBADF (Bad file descriptor)
115   kill(5, SIGTERM)                  = -1 ESRCH (No such process)
115   write(-7778, "kill 5, SIGTERM", 15) = -1 EBADF (Bad file descriptor)
115   write(-7777, "open \"SIG_NO \\\"x\", O_ASYNC", 26) = -1 EBADF (Bad file descriptor)
116   close(O_OTHER)                    = 0
115   --- SIGCHLD {si_signo=SIGCHLD} ---
115   open("O_TEXT \"x", O_PATH, {st_mode=S_IFREG, [F_INSIDE]}) = -1 ENOENT (No such file)
115   write(-7777, "open \"y\", O_ASYNC", 17) = -1 EBADF (Bad file descriptor)
115   open("y", O_PATH)                 = -1 ENOENT (No such file)
"""


def test_calls_are_found_with_what_they_should_show() -> None:
    found = list(strace.calls(LOG))
    assert [ours for ours, _ in found] == [
        "kill 5, SIGTERM",
        'open "SIG_NO \\"x", O_ASYNC',
        'open "y", O_ASYNC',
    ]
    assert found[0][1].startswith("kill(5, SIGTERM)")


def test_differences_are_told_once_and_by_names_alone() -> None:
    assert strace.differences(LOG) == ["open | O_ASYNC | O_PATH"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PF_LOCAL, SOCK_STREAM, 0", {"AF_UNIX", "SOCK_STREAM"}),
        ("AF_UNIX", {"AF_UNIX"}),
        ("SIGRT_2, SIG_0", {"SIGRT2"}),
        ("0xff /* IOPRIO_WHO_??? */, A", set()),
        ("{a=A_B, [C_D, {E_F}]}, G_H|0x1", {"G_H"}),
        ('"X_Y", NULL, -1', set()),
    ],
)
def test_names_are_those_of_arguments_in_one_spelling(text: str, expected: set[str]) -> None:
    assert strace.names(text) == expected


def test_every_row_that_is_known_has_a_form_and_stands_once() -> None:
    rows = strace.listed(strace.LIST.read_text())
    assert len(set(rows)) == len(rows)
    for row in rows:
        call, ours, theirs = row.split(" | ")
        assert call.isidentifier()
        assert (ours, theirs) != ("-", "-")
        for words in (ours, theirs):
            assert words == "-" or strace.words(strace.names(words)) == words


@pytest.mark.parametrize(
    ("known", "status", "told"),
    [
        ("open | O_ASYNC | O_PATH", 0, ""),
        ("", 1, "not explained: open | O_ASYNC | O_PATH\n"),
        ("open | O_ASYNC | O_PATH\nkill | A_B | -", 0, "no longer differs: kill | A_B | -\n"),
    ],
)
def test_the_status_is_that_of_the_unexplained(
    known: str,
    status: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(strace, "release_of", lambda line: line)
    monkeypatch.setattr(strace, "run", lambda release: LOG)
    monkeypatch.setattr(strace, "listed", lambda text: known.splitlines())
    monkeypatch.setattr("sys.argv", ["strace"])
    assert strace.main() == status
    assert capsys.readouterr().out == told + "3 calls, 1 kinds of difference\n"

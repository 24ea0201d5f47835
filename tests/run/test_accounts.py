"""The table at the end of a run that did not go well, and the lines of memory."""

from __future__ import annotations

import pytest

from stapy.run.accounts import Accounts, memory_line

READ = '10\t600\t3\t0\t0\t1\tkernel.function("vfs_read")\tx.stp:1:7'
TICK = "7\t400\t0\t0\t12\t0\ttimer.ms(1)\tx.stp:2:7"


def lines(*rows: tuple[str, str]) -> list[str]:
    """Have a table made; SKIPS stand for the sums of the probes that have a row."""
    skips = [
        [int(one) for one in text.split("\t")[2:5]] for kind, text in rows if kind == "account"
    ]
    sums = "\t".join(str(sum(column)) for column in zip(*skips, [0, 0, 0], strict=True))
    accounts = Accounts()
    assert all(accounts.take(kind, text.replace("SKIPS", sums)) for kind, text in rows)
    return accounts.lines()


def test_table() -> None:
    told = lines(("accounts", "0\tcycles\t1000\tSKIPS\t0\tn"), ("account", READ), ("account", TICK))
    assert told[:4] == [
        "note: what the probes did, those first that took most:",
        "  hits  cycles  share  nested  low stack  locks  errors  probe",
        '    10     600    60%       3          0      0       1  kernel.function("vfs_read")'
        " at x.stp:1:7",
        "     7     400    40%       0          0     12       0  timer.ms(1) at x.stp:2:7",
    ]
    # What the global holds is not known here: it may be text, which no statistic has.
    assert told[4:] == [
        "help: hits waited for the global 'n' in vain: -D MAXTRYLOCK=N waits longer; if it only"
        " counts or adds up numbers, make it a statistic, which <<< adds to without waiting"
    ]


def test_hits_that_belong_to_no_row() -> None:
    """Skips of probes without a row, and what the kernel missed: sums are the warning's."""
    told = lines(
        ("accounts", "0\tcycles\t1000\t7\t0\t12\t2\t"), ("account", READ), ("account", TICK)
    )
    assert told[4].split() == ["4", "0", "0", "(other", "probes)"]
    assert told[4].index("4") == told[3].index(" 0 ") + 1
    assert told[5] == "  and 2 that the kernel missed, before any probe ran"
    told = lines(("accounts", "0\t\t0\t7\t0\t0\t0\t"))
    assert told[2].split() == ["7", "0", "0", "(other", "probes)"]


def test_hits_that_only_the_kernel_missed() -> None:
    """No probe has a row then, unless hits are counted."""
    assert lines(("accounts", "0\t\t0\t0\t0\t0\t5\t")) == [
        "note: hits that the kernel missed, before any probe ran: 5",
        "help: the kernel misses a hit of a kprobe in another one's, and a return where too many"
        " calls are under way: -D KRETACTIVE=N makes room for N at a time",
    ]
    told = lines(
        ("accounts", "0\tcycles\t1000\t0\t0\t0\t5\t"), ("account", READ.replace("3", "0", 1))
    )
    assert told[3:4] == ["  and 5 that the kernel missed, before any probe ran"]
    assert "KRETACTIVE" in told[4] and len(told) == 5


@pytest.mark.parametrize(("errors", "shown"), [(1, 0), (2, 3)])
def test_errors_that_ended_the_session_without_counted_hits(errors: int, shown: int) -> None:
    row = READ.replace("3\t0\t0\t1\t", f"0\t0\t0\t{errors}\t").replace("600", "0")
    told = lines(("accounts", "0\t\t0\t0\t0\t0\t0\t"), ("account", row))
    assert len(told) == shown and (not told or told[2].split()[:4] == ["0", "0", "0", "2"])


def test_without_counted_hits() -> None:
    told = lines(("accounts", "0\t\t0\tSKIPS\t0\t"), ("account", READ.replace("600", "0")))
    assert told[0] == (
        "note: what the probes did, those first that skipped or failed most (-t adds hits, what"
        " they took, and shares):"
    )
    assert told[1].split() == ["nested", "low", "stack", "locks", "errors", "probe"]
    assert told[2].split()[:4] == ["3", "0", "0", "1"]
    assert "-D INTERRUPTIBLE=0" in told[3]


@pytest.mark.parametrize(
    ("head", "row", "words"),
    [
        (
            "1\tcycles\t1000\tSKIPS\t0\t",
            READ,
            '60% of the cycles went to kernel.function("vfs_read")',
        ),
        (
            "1\tcycles\t1000\tSKIPS\t0\t",
            READ,
            "--on-overload=throttle or disarm goes on without it",
        ),
        ("2\tcycles\t1000\tSKIPS\t0\t", READ, "-D STP_OVERLOAD_THRESHOLD=CYCLES"),
        ("1\t\t0\tSKIPS\t0\t", "", "-t counts hits and cycles"),
        ("0\t\t0\tSKIPS\t0\t", "0\t0\t0\t5\t0\t0\tbegin\tx.stp:1:7", "-D MINSTACKSPACE=N"),
    ],
)
def test_the_change_that_helps(head: str, row: str, words: str) -> None:
    told = lines(("accounts", head), *([("account", row)] if row else []))
    assert told[-1].startswith("help: ") and words in told[-1]
    assert sum(line.startswith("help: ") for line in told) == 1
    assert not (head[0] == "2" and "--on-overload" in told[-1])


def test_nothing_to_tell() -> None:
    """An error of a run in which nothing was counted or skipped was told by itself."""
    assert lines() == []
    assert (
        lines(("accounts", "0\t\t0\tSKIPS\t0\t"), ("account", "0\t0\t0\t0\t0\t1\tbegin\tx.stp:1:7"))
        == []
    )
    assert not Accounts().take("warning", "x")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("accounts", "0\t\t0\tn"),  # as it was before skipped hits were in it
        ("accounts", "0\t\t0\t1\t2\t3\t4\t5\t6\tn"),
        ("accounts", "0\t\tx\t0\t0\t0\t0\tn"),
        ("account", "0\t0\t1\t0\t0\tbegin\tx.stp:1:7"),
        ("account", "0\t0\t1\t0\t0"),
        ("account", ""),
    ],
)
def test_a_session_of_another_version_is_attached_to(kind: str, text: str) -> None:
    """What has another shape is passed over: the output that is still to come is not lost."""
    accounts = Accounts()
    assert not accounts.take(kind, text)
    assert accounts.lines() == []


def test_names_that_are_cut_or_strange() -> None:
    """The module cuts what is very long; a place is a path, with whatever its name has."""
    told = lines(("accounts", "0\t\t0\tSKIPS\t0\t"), ("account", READ[: READ.index('")')]))
    assert told[2].endswith('  kernel.function("vfs_read at ')
    told = lines(("accounts", "0\t\t0\tSKIPS\t0\t"), ("account", READ.replace("x.stp", "x\ty.stp")))
    assert len(told) == 4 and "y.stp:1:7" in told[2]


def test_what_the_terminal_would_obey_is_shown() -> None:
    row = READ.replace("vfs_read", "\033[2J")
    assert not any(
        "\033" in line for line in lines(("accounts", "0\t\t0\tSKIPS\t0\t"), ("account", row))
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("2097152\tarray\treads", "memory: 2,048.0 KiB array 'reads'"),
        ("512\toutput\tbuffers", "memory: 0.5 KiB output buffers"),
        ("1024\tothers\t3", "memory: 1.0 KiB in 3 smaller parts"),
        ("nonsense", ""),
    ],
)
def test_memory(text: str, line: str) -> None:
    assert memory_line(text) == line

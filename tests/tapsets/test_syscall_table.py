"""The table of system calls and what is made of it."""

from __future__ import annotations

import re

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import nodes as n
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library.syscalls import TableError, generate, names
from stapy.paths import data_dir

TABLE = (data_dir("tapsets") / "syscalls" / "calls.table").read_text(encoding="utf-8")
TYPES = "".join(line + "\n" for line in TABLE.splitlines() if line.startswith("%type"))
X86 = PreprocessFacts(kernel_release="6.1.0")
TEXTS = generate(TABLE, X86)
ARM = PreprocessFacts(kernel_release="6.1.0", arch="arm64")


def bodies(text: str) -> dict[str, str]:
    """Map alias names to their bodies (of the last definition)."""
    found = re.findall(r"^probe (\S+) = .*\n\{\n((?:\t.*\n)*)\}", text, re.MULTILINE)
    return dict(found)


def one(row: str, facts: PreprocessFacts = X86) -> dict[str, str]:
    """Make the bodies of a table with one row."""
    texts = generate(TYPES + row + "\n", facts)
    return bodies(texts[row.split(" ")[0]])


def test_calls_that_a_kernel_has_no_function_for_are_counted_once() -> None:
    rows = "gone | 156 | | | | 1\nx | - | | | | 1\n%except x | gone\n"
    made = bodies(generate(rows, X86)["x"])
    for name in ("dw_syscall.x", "nd2_syscall.x", "nd2_syscall.x.return"):
        assert made[name].splitlines()[:2] == [
            "\tnr = _stp_syscall_nr()",
            "\tif (nr == 156) next",
        ]
    other = generate(rows, ARM)["x"]
    assert "_stp_syscall_nr" not in other


def test_functions_that_one_architecture_has() -> None:
    rows = "x | 1 | !arm64:a b | n:int | | 1\nx | - | arm64:a x86_64:c s390:d | m:int | | 1\n"

    def points(facts: PreprocessFacts) -> list[tuple[str, str]]:
        """List the function of each kernel probe with the variable that it is given."""
        text = generate(TYPES + rows, facts)["x"]
        heads = re.findall(r"^probe dw_syscall.x = (.*)\n\{\n.*\n\t(\w) =", text, re.MULTILINE)
        return [
            (name, variable)
            for line, variable in heads
            for name in re.findall(r'"__(?:x64|arm64)_sys_(\w+)"', line)
        ]

    assert points(X86) == [("a", "n"), ("b", "n"), ("c", "m")]
    assert points(ARM) == [("b", "n"), ("a", "m")]


# What a call of the table is by its wrapper there: 32-bit ones have their numbers of 64 bits in
# pairs that begin at an odd place, counted from 1.
@pytest.mark.parametrize(
    ("call", "function", "assigned"),
    [
        ("clone", "__arm64_sys_clone", "child_tid_uaddr = __syscall_arg(5)"),
        ("clone", "__arm64_sys_clone", "tls = __syscall_arg(4)"),
        ("personality", "__arm64_sys_arm64_personality", "persona ="),
        ("pread", "__arm64_compat_sys_aarch32_pread64", "offset = __syscall_loff(5)"),
        ("pwrite64", "__arm64_compat_sys_aarch32_pwrite64", "offset = __syscall_loff(5)"),
        ("truncate", "__arm64_compat_sys_aarch32_truncate64", "length = __syscall_loff(3)"),
        ("ftruncate", "__arm64_compat_sys_aarch32_ftruncate64", "length = __syscall_loff(3)"),
        ("readahead", "__arm64_compat_sys_aarch32_readahead", "offset = __syscall_loff(3)"),
        ("readahead", "__arm64_compat_sys_aarch32_readahead", "count = __syscall_arg(5)"),
        ("fallocate", "__arm64_compat_sys_aarch32_fallocate", "len = __syscall_loff(5)"),
        ("fadvise64_64", "__arm64_compat_sys_aarch32_fadvise64_64", "len = __syscall_loff(5)"),
        (
            "sync_file_range",
            "__arm64_compat_sys_aarch32_sync_file_range2",
            "flags = __syscall_arg(2)",
        ),
        ("mmap2", "__arm64_compat_sys_aarch32_mmap2", "pgoffset = __syscall_arg(6)"),
        ("statfs64", "__arm64_compat_sys_aarch32_statfs64", "buf_uaddr = __syscall_arg(3)"),
    ],
)
def test_calls_of_arm64(call: str, function: str, assigned: str) -> None:
    text = generate(TABLE, ARM)[call]
    rows = re.findall(r"^probe dw_\S+ = (.*)\n\{\n((?:\t.*\n)*)\}", text, re.MULTILINE)
    (body,) = (body for points, body in rows if f'"{function}").call' in points)
    assert f"\t{assigned}" in body


def test_names_are_those_of_the_rows() -> None:
    assert names(TABLE) == list(TEXTS)
    assert len(TEXTS) > 350


@pytest.mark.parametrize(
    "name",
    [
        "open",
        "openat",
        "close",
        "read",
        "write",
        "pread",
        "pwrite",
        "readv",
        "writev",
        "lseek",
        "stat",
        "fstat",
        "fstatat",
        "statx",
        "mmap",
        "mmap2",
        "munmap",
        "brk",
        "mprotect",
        "clone",
        "clone3",
        "fork",
        "vfork",
        "execve",
        "exit",
        "exit_group",
        "wait4",
        "kill",
        "futex",
        "nanosleep",
        "clock_nanosleep",
        "poll",
    ],
)
def test_spellings(name: str) -> None:
    made = bodies(TEXTS[name])
    for spelling in ("", "dw_", "nd_", "nd1_", "nd2_", "tp_"):
        assert f"{spelling}syscall.{name}" in made
        returns = f"{spelling}syscall.{name}.return" in made
        assert returns == (name not in ("exit", "exit_group"))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_parses(name: str) -> None:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    script = parse_script(name, TEXTS[name], X86, None, sources, diagnostics, is_library=True)
    assert not diagnostics.errors
    assert script is not None
    assert all(isinstance(decl, n.AliasDecl) for decl in script.decls)


@pytest.mark.parametrize(
    ("argument", "lines"),
    [
        ("fd:int", ["fd = __syscall_arg(1) << 32 >> 32"]),
        ("at:ptr", ["at = __syscall_arg(1)"]),
        ("pos:loff", ["pos = __syscall_loff(1)"]),
        ("count:long", ["count = __syscall_long(1)"]),
        ("flags=__f", ["flags = __syscall_arg(1) & 0xffffffff", "flags_str = __f(flags)"]),
        ("flags==__f", ["flags = __syscall_arg(1)", "flags_str = __f(flags)"]),
        ("sig=__f/sig_name", ["sig = __syscall_arg(1) & 0xffffffff", "sig_name = __f(sig)"]),
        (
            "buf:wbuf",
            [
                "buf_uaddr = __syscall_arg(1)",
                "buf_str = __buffer_str(__syscall_arg(1), __syscall_arg(2))",
            ],
        ),
    ],
)
def test_arguments(argument: str, lines: list[str]) -> None:
    body = one(f"x | 1 | | {argument} | | 1")["nd2_syscall.x"]
    assert body.splitlines()[1:-1] == [f"\t{line}" for line in lines]


@pytest.mark.parametrize(
    ("row", "argstr"),
    [
        ("x | 1 | | | | 1", '""'),
        ("x | 1 | | a:int b:hex | | 1", 'sprintf("%d, %#x", a, b)'),
        ("x | 1 | | a:int -b:hex | | 1", 'sprintf("%d", a)'),
        ("x | 1 | | a:int - b:hex | | 1", 'sprintf("%d, %#x", a, b)'),
        ("x | 1 | | p:path | | 1", "p"),
        ('x | 1 | | a:int | sprintf("%d", $3) | 1', 'sprintf("%d", __syscall_arg(3))'),
    ],
)
def test_argstr(row: str, argstr: str) -> None:
    assert one(row)["nd2_syscall.x"].splitlines()[-1] == f"\targstr = {argstr}"


def test_skipped_argument_keeps_its_place() -> None:
    assert "b = __syscall_arg(3)" in one("x | 1 | | a:int - b:hex | | 1")["nd2_syscall.x"]


def test_every_way_reads_arguments_its_own_way() -> None:
    made = one("x | 7 | | a:hex | | 2")
    assert "a = ulong_arg(1)" in made["nd1_syscall.x"]
    assert "a = __syscall_regs_arg($regs, 1)" in made["tp_syscall.x"]
    assert "!= 7) next" in made["tp_syscall.x"]
    assert made["dw_syscall.x"] == made["nd2_syscall.x"]
    assert "retstr = return_str(2, retval)" in made["nd2_syscall.x.return"]


GURU = PreprocessFacts(kernel_release="6.1.0", guru=True)
GURU_TEXTS = generate(TABLE, GURU)


@pytest.mark.parametrize(
    ("argument", "lines"),
    [
        ("fd:int", ["if (@probewrite(fd)) set_int_arg(1, fd)"]),
        ("flags=__f", ["if (@probewrite(flags)) set_uint_arg(1, flags)"]),
        ("- at:ptr", ["if (@probewrite(at)) set_ulong_arg(2, at)"]),
        ("count:long", ["if (@probewrite(count)) set_long_arg(1, count)"]),
        ("pos:loff", []),
        (
            "p:path",
            [
                "if (@probewrite(p_unquoted) && p_unquoted != user_string(__syscall_arg(1), "
                '"<unavailable>")) set_user_string_arg(__syscall_arg(1), p_unquoted)'
            ],
        ),
    ],
)
def test_guru_mode_writes_back(argument: str, lines: list[str]) -> None:
    row = f"x | 1 | | {argument} | | 1"
    text = generate(TYPES + row + "\n", GURU)["x"]
    pattern = r"^probe nd2_syscall\.x = .*\n\{\n(?:\t.*\n)*\}, \{\n((?:\t.*\n)*)\}"
    found = re.search(pattern, text, re.MULTILINE)
    assert [line.strip() for line in found[1].splitlines()] == lines if found else not lines
    assert text.count("if (@probewrite(retval)) set_returnval(retval)") == 3
    traced = [part for part in text.split("\nprobe ") if part.startswith("tp_syscall")]
    assert len(traced) == 2
    assert not any("set_" in part for part in traced)
    assert "@probewrite" not in generate(TYPES + row + "\n", X86)["x"]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text_of_guru_mode_parses(name: str) -> None:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    text = GURU_TEXTS[name]
    assert parse_script(name, text, GURU, None, sources, diagnostics, is_library=True) is not None


def test_call_without_number_has_no_tracepoint() -> None:
    made = one("x | - | | a:hex | | 1")
    assert "tp_syscall.x" not in made


def test_other_architecture() -> None:
    texts = generate(TABLE, PreprocessFacts(kernel_release="6.1.0", arch="arm64"))
    assert '"__arm64_sys_read"' in texts["read"]
    assert "tp_syscall" not in texts["read"]


def test_rows_of_one_name_add_up() -> None:
    assert TEXTS["pipe"].count("probe nd2_syscall.pipe = ") == 2
    assert TEXTS["pipe"].count("probe syscall.pipe = ") == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x | 1 | | a:nothing | | 1", "no %type 'nothing'"),
        ("x | 1 | | a | | 1", "cannot read the argument 'a'"),
        ("x | 1 | | | | one", "line"),
        ("x | 1", "line"),
        ("x | 1 | | | | 1 | nonsense", "no assignment"),
    ],
)
def test_bad_lines(line: str, problem: str) -> None:
    with pytest.raises(TableError, match=problem):
        generate(TYPES + line + "\n", X86)


def test_variables_of_a_return() -> None:
    """The arguments that they are made of are those of the entry, in every spelling."""
    found = one("twice | 9 | | at:ptr | | 1 | | there = retval ? $1 : 0")
    traced = found.pop("tp_syscall.twice.return")
    assert "\tthere = retval ? __syscall_regs_arg($regs, 1) : 0\n" in traced
    for spelling, read in (
        ("dw_", "__syscall_arg"),
        ("nd1_", "ulong_arg"),
        ("nd2_", "__syscall_arg"),
    ):
        text = found[f"{spelling}syscall.twice.return"]
        assert f"\tthere = retval ? @entry({read}(1)) : 0\n" in text
        assert text.index("retval =") < text.index("there =")
        assert "there" not in found[f"{spelling}syscall.twice"]

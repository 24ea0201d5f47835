"""Options and environment variables by the real program: a process, its streams, its files.

What an option does to a session is shown where modules run (``tests/vm``); here each option that
pass 1 to 4 can tell of is given to ``python -m stapy``, and what it changes is looked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stapy import __version__
from stapy.record import Record, new
from stapy.vm import kernels
from tests.program import run_stapy

ROOT = Path(__file__).resolve().parents[1]
ONE = "probe begin { println(1) }"
TWO = "probe end { println(2) }"
UNREAD = "global unread probe begin { unread++ }"
RELEASE = next(iter(kernels.lines()), "")


class Use(Record):
    """Words for the program, and what must come of them.

    ``out`` and ``err`` are regular expressions for the streams, ``never`` for neither;
    ``files`` are patterns of what must be in the folder afterwards. ``{release}`` and
    ``{folder}`` stand for the oldest kernel that is installed and for the folder.
    """

    name: str
    words: list[str]
    out: str = ""
    err: str = ""
    never: str = ""
    status: int = 0
    files: list[str] = new(list)
    given: dict[str, str] = new(dict)  # files that are there before, by name
    env: dict[str, str] = new(dict)
    stdin: str = ""


def run(use: Use, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with the words of a use, in a folder."""

    def fill(text: str) -> str:
        return text.replace("{release}", RELEASE).replace("{folder}", str(folder))

    for name, text in use.given.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text))
        path.chmod(0o755)
    own = {name: fill(value) for name, value in use.env.items()}
    return run_stapy(*map(fill, use.words), cwd=folder, env=own, given=use.stdin)


def check(use: Use, folder: Path) -> None:
    done = run(use, folder)
    shown = f"status {done.returncode}\n{done.stdout[-3000:]}\n---\n{done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr, shown
    assert done.returncode == use.status, shown
    assert re.search(use.out, done.stdout, re.M | re.S), f"no /{use.out}/\n{shown}"
    assert re.search(use.err, done.stderr, re.M | re.S), f"no /{use.err}/\n{shown}"
    if use.never:
        found = re.search(use.never, done.stdout + done.stderr, re.M)
        assert not found, f"there is /{use.never}/\n{shown}"
    for pattern in use.files:
        assert list(folder.glob(pattern)), f"no {pattern} in {sorted(folder.rglob('*'))}\n{shown}"


PRIVATE = "@__private30 global x = 1 probe begin { println(x) }"
# Pass 1, which needs no kernel.
PARSED = [
    Use("file", ["-p1", "x.stp", "7"], r"println\(7\)",
        given={"x.stp": "probe begin { println($1) }"}),
    Use("stdin", ["-p1", "-"], r"println\(1\)", stdin=ONE),
    Use("e", ["-p1", "-e", "probe begin { println($1, @2) }", "--", "-5", "-x"],
        r'println\(-5, "-x"\)'),
    Use("E", ["-p1", "-e", ONE, "-E", TWO, "-E", "probe error { }"],
        r"println\(1\).*println\(2\).*probe error"),
    Use("h", ["-h"], r"Usage: .*-p NUM .*--disable-cache"),
    Use("help", ["--help"], r"Usage: .*-p NUM .*--disable-cache"),
    Use("p1", ["-p1", "-e", ONE], r"probe begin \{"),
    Use("vm_apart", ["-p1", "--vm", "6.1", "-e", ONE], err=r"W0652(.|\n)*did you mean --vm=6\.1\?"),
    Use("vm_as_file", ["-p1", "--vm", "6.1"], err=r"did you mean --vm=6\.1\?", status=1),
    Use("text_as_file", ["-p1", ONE], err=r"did you mean -e\? stapy -e 'probe begin ", status=1),
    Use("words_as_file", ["-p1", "probe", "begin", "{", "println(1)", "}"],
        err=r"did you mean -e\? stapy -e 'probe begin \{ println\(1\) \}'", status=1),
    Use("e_without_quotes", ["-p1", "-e", "probe", "begin", "{", "}"],
        err=r"its arguments: it stands in quotes, -e 'probe begin …'", status=1),
    Use("e_with_quotes", ["-p1", "-e", "probe begin {", "a"], err="E0105", never="quotes",
        status=1),
    Use("near_file", ["-p1", "writrs.stp"], err=r"did you mean 'writers\.stp'\?", status=1,
        given={"writers.stp": ONE}),
    Use("near_file_elsewhere", ["-p1", "in/writers"], err=r"did you mean 'in/writers\.stp'\?",
        status=1, given={"in/writers.stp": ONE}),
    Use("color_apart", ["-p1", "--color", "never", "-e", ONE], err=r"--color=never\?"),
    Use("v", ["-p1", "-v", "-e", ONE], err=r"^Pass 1: parsed user script and \d+ library scripts"),
    Use("I", ["-p1", "-I", "more", "-e", "probe begin { println(@mine) }"], r"println\(42\)",
        given={"more/mine.stpm": "@define mine %( 42 %)"}),
    Use("color", ["-p1", "--color=always", "-e", "probe {"], err=r"\x1b\[", status=1),
    Use("colour", ["-p1", "--colour", "-e", "probe {"], err=r"\x1b\[", status=1),
    Use("color_never", ["-p1", "--color=never", "-e", "probe {"], err="parse error",
        never=r"\x1b\[", status=1),
    Use("private30", ["-p1", "--compatible=3.0", "-e", PRIVATE], "^private global x = 1$"),
    Use("not_private", ["-p1", "--compatible=2.9", "-e", PRIVATE], "^global x = 1$"),
    Use("compatible", ["-p1", "--compatible=1.7", "-e",
        'probe begin { println(%( systemtap_v <= "1.7" %? 17 %: 56 %)) }'], r"println\(17\)"),
    Use("g", ["-p1", "-g", "-e", "probe begin { println(%( guru_mode == 1 %? 1 %: 0 %)) }"],
        r"println\(1\)"),
    Use("privilege", ["-p1", "--privilege=stapsys", "-e", "probe begin { println("
        '%( systemtap_privilege == "stapsys" %? 1 %: 0 %)) }'], r"println\(1\)"),
    Use("unprivileged", ["-p1", "--unprivileged", "-e", "probe begin { println("
        '%( systemtap_privilege == "stapusr" %? 1 %: 0 %)) }'], r"println\(1\)"),
    Use("refused", ["-p1", "--privilege=root", "-e", ONE], err="stapusr, stapsys, stapdev",
        status=1),
    Use("shebang", ["-p1", "x.stp"], r"println\(1\)",
        given={"x.stp": "#!/usr/bin/env stapy\n" + ONE}),
    Use("first_line", ["-p1", "x.stp"], status=1,
        err=r"-g.*failed(.|\n)*^hint: the first line says '-g -v': run the file itself, or give",
        given={"x.stp": "#!/usr/bin/stap -g -v\nprobe begin { %{ %} }"}),
    Use("first_line_obeyed", ["-g", "-p1", "x.stp"], status=1, err="failed", never="first line",
        given={"x.stp": "#!/usr/bin/stap -g -v\nprobe {"}),
    Use("first_line_of_others", ["-p1", "x.stp"], status=1, err="failed", never="first line",
        given={"x.stp": "#!/usr/bin/stap -v\nprobe {"}),
    Use("first_line_systemtap", ["-p1", "--message-format=systemtap", "x.stp"], status=1,
        err="failed", never="first line",
        given={"x.stp": "#!/usr/bin/stap -g\nprobe begin { %{ %} }"}),
]  # fmt: skip

# Environment variables and files of the user.
SAID = [
    Use("SYSTEMTAP_DIR", ["-p1"], r"by rc", env={"SYSTEMTAP_DIR": "{folder}"},
        given={"rc": "-DONE=1 # for me\n-e 'probe begin { println(\"by rc\") }'"}),
    Use("HOME", ["-p1"], r"by home", env={"HOME": "{folder}"},
        given={".systemtap/rc": "-e 'probe begin { println(\"by home\") }'"}),
    Use("SYSTEMTAP_TAPSET", ["-p1", "-e", "probe begin { println(@mine) }"], r"println\(43\)",
        env={"SYSTEMTAP_TAPSET": "{folder}/tapset"},
        given={"tapset/mine.stpm": "@define mine %( 43 %)"}),
    Use("XDG_DATA_DIRS", ["-p1", "-e", "probe begin { println(@mine) }"], r"println\(44\)",
        env={"XDG_DATA_DIRS": "/nowhere:{folder}/data"},
        given={"data/systemtap/tapset/mine.stpm": "@define mine %( 44 %)"}),
    Use("SYSTEMTAP_COLORS", ["-p1", "--color=always", "-e", "probe {"], err=r"\x1b\[07;35m",
        status=1, env={"SYSTEMTAP_COLORS": "error=07;35"}),
    Use("TERM", ["-p1", "--color=auto", "-e", "probe {"], err="parse error", never=r"\x1b\[",
        status=1, env={"TERM": "xterm"}),
    Use("LANG", ["-p1", "-e", "probe {"], err="parse error", status=1,
        env={"LANG": "de_DE.UTF-8", "LC_ALL": "tr_TR.UTF-8"}),
]  # fmt: skip

AT = ["-r", "{release}"]
GURU = "%{\n#if MINE != 7\n#error not mine\n#endif\n%} probe begin { println(1) }"
BADVARS = 'probe kernel.function("vfs_read") { println($nosuch) }'
RELEASED = 'probe begin { println(%( kernel_vr == "{release}" %? 1 %: 0 %)) }'
# Passes 2 to 4, for a kernel.
MADE = [
    Use("r_release", ["-p2", "-v", "-r", "{release}", "-e", RELEASED], r'"%d\\n", 1'),
    Use("r_folder", ["-p2", "-v", "-r", "/lib/modules/{release}/build", "-e", RELEASED],
        r'"%d\\n", 1'),
    Use("SYSTEMTAP_RELEASE", ["-p2", "-v", "-e", RELEASED], r'"%d\\n", 1',
        env={"SYSTEMTAP_RELEASE": "{release}"}),
    Use("p2", [*AT, "-p2", "-e", ONE], r"^# probes$"),
    Use("p3", [*AT, "-p3", "-e", ONE], r'#include "stapy\.h"'),
    Use("vp", [*AT, "-p2", "--vp", "01", "-e", ONE], err="^Pass 2: analyzed", never="^Pass 1:"),
    Use("u", [*AT, "-p2", "-u", "-e", "function f() { return 1 } " + ONE], "f:long"),
    Use("without_u", [*AT, "-p2", "-e", "function f() { return 1 } " + ONE], never="f:long"),
    Use("warned", [*AT, "-p2", "-e", "probe end { } " + ONE], err="WARNING: .*elided"),
    Use("w", [*AT, "-p2", "-w", "-e", "probe end { } " + ONE], never="WARNING"),
    Use("W", [*AT, "-p2", "-W", "-e", "probe end { } " + ONE], err="elided", status=1),
    Use("t", [*AT, "-p3", "-t", "-e", ONE], r"\.timing = 1,"),
    Use("s", [*AT, "-p3", "-s", "3", "-e", ONE], r"\.buffer_bytes = 3145728,"),
    Use("D", [*AT, "-p3", "-D", "MINE=7", "-DMAXACTION=77", "-e", ONE],
        r"#define MAXACTION 77$.*#define MINE 7$"),
    Use("skip_badvars", [*AT, "-p2", "--skip-badvars", "-e", BADVARS], r"# probes",
        "WARNING: .*nosuch"),
    Use("without_skip_badvars", [*AT, "-p2", "-e", BADVARS], err="error: .*nosuch", status=1),
    Use("STP_SKIP_BADVARS", [*AT, "-p3", "-DSTP_SKIP_BADVARS", "-e", ONE], r"\.skip_badvars = 1,"),
    Use("suppress_handler_errors", [*AT, "-p3", "--suppress-handler-errors", "-e", ONE],
        r"\.suppress_handler_errors = 1,"),
    Use("STAP_SUPPRESS_HANDLER_ERRORS", [*AT, "-p3", "-DSTAP_SUPPRESS_HANDLER_ERRORS", "-e", ONE],
        r"\.suppress_handler_errors = 1,"),
    Use("suppress_time_limits", [*AT, "-p3", "-g", "--suppress-time-limits", "-e", ONE],
        r"\.suppress_time_limits = 1,"),
    Use("STAP_SUPPRESS_TIME_LIMITS_ENABLE",
        [*AT, "-p3", "-g", "-DSTAP_SUPPRESS_TIME_LIMITS_ENABLE", "-e", ONE],
        r"\.suppress_time_limits = 1,"),
    Use("suppress_time_limits_of_a_guru", [*AT, "-p3", "--suppress-time-limits", "-e", ONE],
        err="requires guru mode", status=1),
    Use("no_global_var_display", [*AT, "-p2", "--no-global-var-display", "-e", UNREAD],
        never="^end"),
    Use("global_var_display", [*AT, "-p2", "-e", UNREAD], "^end"),
    Use("l", [*AT, "-l", 'kernel.function("vfs_rea?")'], r'^kernel\.function\("vfs_read"\)$'),
    Use("L", [*AT, "-L", 'kernel.function("vfs_read")'],
        r'^kernel\.function\("vfs_read"\) \$file:struct file ?\* .*\$count:size_t'),
    Use("L_v", [*AT, "-v", "-L", 'kernel.function("vfs_read")'], r"vfs_read.*/\* BTF \*/$"),
    # Macros of the library are told of where the script has them.
    Use("library_macro", [*AT, "-p2", "-e", 'probe begin { println(@errno . "x") }'],
        err=r"--> <input>:1:23(.|\n)*in the library's macro", status=1),
    Use("library_macro_run", [*AT, "-p3", "-e", "probe begin { println(@errno) }"],
        r"operator '@errno' at <input>:1:23", never=r"at user/errno\.stpm"),
    Use("l_nothing", [*AT, "-l", 'kernel.function("no_such_function")'], never="^kernel", status=1),
    Use("dump_probe_types", [*AT, "--dump-probe-types"], r"^begin\(number\)$.*^timer\.jiffies"),
    Use("dump_probe_aliases", [*AT, "--dump-probe-aliases"], r"^scheduler\.ctxswitch\b"),
    Use("dump_functions", [*AT, "--dump-functions"], r"^pid:long \(\)"),
]  # fmt: skip

# Pass 4, with the compiler.
COMPILED = [
    Use("m", [*AT, "-p4", "-m", "mine", "-e", ONE], r"^mine\.ko$", files=["mine.ko"]),
    Use("k", [*AT, "-p4", "-k", "-e", ONE], err=r"^Keeping temporary directory \"/"),
    Use("tmpdir", [*AT, "-p4", "--disable-cache", "--tmpdir=work", "-e", ONE], r"\.ko$",
        files=["work/build/*.c"]),
    Use("TMPDIR", [*AT, "-p4", "-k", "-m", "kept", "-e", ONE], env={"TMPDIR": "{folder}/own"},
        given={"own/keep": ""}, files=["own/*/kept/kept_script.c"]),
    Use("disable_cache", [*AT, "-p4", "--disable-cache", "-e", ONE], r"\.ko$", files=["stap_*.ko"],
        env={"SYSTEMTAP_DIR": "{folder}"}, never=r"cache/stapy"),
    Use("B", [*AT, "-p4", "-g", "-B", "CFLAGS_MODULE=-DMINE=7", "--disable-cache", "-e", GURU],
        r"\.ko$"),
    Use("without_B", [*AT, "-p4", "-g", "-e", GURU], err="not mine", status=1),
    Use("R", [*AT, "-p4", "-R", "runtime", "-e", ONE], err="runtime of the test", status=1,
        given={"runtime/stapy.h": "#error runtime of the test\n"}),
]  # fmt: skip


def _ids(uses: list[Use]) -> list[str]:
    return [use.name for use in uses]


@pytest.mark.parametrize("use", PARSED, ids=_ids(PARSED))
def test_parsed(use: Use, tmp_path: Path) -> None:
    check(use, tmp_path)


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_version(word: str, tmp_path: Path) -> None:
    done = run(Use("version", [word]), tmp_path)
    assert done.returncode == 0
    assert __version__ in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("-V", 0, __version__),
        ("-h", 0, r"Usage: stapy-run .*MODULE"),
        ("-M x x.ko", 1, "-M"),
        ("-N container x.ko", 1, "-N"),
        ("-F 3 x.ko", 1, "-F is not supported"),
        ("-u x.ko", 1, "-u"),
    ],
)
def test_the_consumer(words: str, status: int, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stapy.run", *words.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == status, done.stderr
    assert re.search(said, done.stdout + done.stderr), done.stdout + done.stderr


@pytest.mark.parametrize("use", SAID, ids=_ids(SAID))
def test_said_by_the_environment(use: Use, tmp_path: Path) -> None:
    check(use, tmp_path)


@pytest.mark.build
@pytest.mark.skipif(not RELEASE, reason="no kernel with headers is installed")
@pytest.mark.parametrize("use", MADE, ids=_ids(MADE))
def test_for_a_kernel(use: Use, tmp_path: Path) -> None:
    check(use, tmp_path)


@pytest.mark.build
@pytest.mark.skipif(not RELEASE, reason="no kernel with headers is installed")
@pytest.mark.parametrize("use", COMPILED, ids=_ids(COMPILED))
def test_compiled(use: Use, tmp_path: Path) -> None:
    check(use, tmp_path)


@pytest.mark.build
@pytest.mark.skipif(not RELEASE, reason="no kernel with headers is installed")
def test_a_module_does_not_tell_where_the_library_lies(tmp_path: Path) -> None:
    script = "probe begin { println(ctime(0)); println(kernel_string(8)); assert(0) }"
    made = []
    for number in range(2):
        work = tmp_path / f"work{number}"
        library = tmp_path / f"library{number}"
        work.mkdir()
        shutil.copytree(ROOT / "tapsets", library)
        words = ["-p4", "-m", "same", "--disable-cache", "-r", RELEASE, "-e", script]
        done = run_stapy(*words, cwd=work, env={"SYSTEMTAP_TAPSET": str(library)})
        assert done.returncode == 0, done.stderr
        made.append((work / "same.ko").read_bytes())
    assert made[0] == made[1]
    assert b"at core/ctime.stp:" in made[0]
    assert str(tmp_path).encode() not in made[0]


@pytest.mark.build
@pytest.mark.skipif(not RELEASE, reason="no kernel with headers is installed")
def test_poison_cache(tmp_path: Path) -> None:
    """A module that is in the cache is used, but not with --poison-cache."""
    words = [*AT, "-p4", "-v", "-e", f'probe begin {{ println("{tmp_path}") }}']
    told = [
        "using cached" in run(Use("cache", more + words), tmp_path).stderr
        for more in ([], [], ["--poison-cache"], [])
    ]
    assert told == [False, True, False, True]


def test_clean_cache(tmp_path: Path) -> None:
    """--clean-cache removes what lies above the limit that ``cache_mb_limit`` sets."""
    given = {"cache/stapy/cache_mb_limit": "1\n"}
    for name in (f"cache/stapy/module/ab/ab{number:062}" for number in range(3)):
        given |= {f"{name}/x.ko": "x" * 2_000_000, f"{name}.sum": ""}
    use = Use("clean", ["--clean-cache"], given=given, env={"SYSTEMTAP_DIR": "{folder}"})
    assert run(use, tmp_path).returncode == 0
    assert list(tmp_path.rglob("x.ko")) == []

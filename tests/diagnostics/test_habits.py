"""What is typed by habit from other tracers, and the rest of a first hour, gets a hint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.build.process import find_program
from stapy.cli import main
from stapy.diagnostics.habits import foreign_language, old_function, tracepoint
from tests.program import run_stapy
from tests.session.test_settle import bound_by_permissions

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "language", "here"),
    [
        ("kprobe:vfs_read { @x[comm] = count(); }", "bpftrace", 'kernel.function("vfs_read")'),
        ("kretprobe:vfs_read /pid == 5/ { }", "bpftrace", 'kernel.function("vfs_read").return'),
        ("fexit:vmlinux:vfs_read { }", "bpftrace", 'kernel.function("vfs_read").return'),
        ("kfunc:xfs:xfs_file_read { }", "bpftrace", 'module("xfs").function("xfs_file_read")'),
        ("kprobe:do_x,\nkprobe:do_y { }", "bpftrace", 'kernel.function("do_x")'),
        ("#!/usr/bin/env bpftrace\n/* doc */\nBEGIN { }", "bpftrace or DTrace", "begin"),
        ("END { clear(@x) }", "bpftrace or DTrace", "end"),
        ("tracepoint:syscalls:sys_enter_open { }", "bpftrace", "syscall.open"),
        ("t:syscalls:sys_exit_read { }", "bpftrace", "syscall.read.return"),
        ("tracepoint:sched:sched_switch { }", "bpftrace", 'kernel.trace("sched:sched_switch")'),
        ("rawtracepoint:sched_switch { }", "bpftrace", 'kernel.trace("sched_switch")'),
        ("interval:s:5 { exit(); }", "bpftrace", "timer.s(5)"),
        ("i:ms:20 { }", "bpftrace", "timer.ms(20)"),
        ("profile:hz:99 { @[kstack] = count(); }", "bpftrace", "timer.profile.freq.hz(99)"),
        ("probe kprobe:vfs_read { }", "bpftrace", 'kernel.function("vfs_read")'),
        ("probe syscall.read /pid == 5/ { }", "bpftrace or DTrace",
         "nothing: a filter stands in the body: { if (pid == 5) … }"),
        ("software:page-faults:1 { }", "bpftrace", "perf.sw.page_faults"),
        ("s:faults:1 { }", "bpftrace", "perf.sw.page_faults"),
        ("software:cpu:100 { }", "bpftrace", "perf.sw.cpu_clock"),
        ("software:cs { }", "bpftrace", "perf.sw.context_switches"),
        ("software:major-faults:1 { }", "bpftrace", "perf.sw.page_faults_maj"),
        ("h:cache-misses:1000 { }", "bpftrace", "perf.hw.cache_misses"),
        ("hardware:cycles:1000 { }", "bpftrace", "perf.hw.cpu_cycles"),
        ("hardware:branches { }", "bpftrace", "perf.hw.branch_instructions"),
        ("uprobe:/bin/bash:readline { }", "bpftrace", 'process("/bin/bash").function("readline")'),
        ("ur:libc:malloc { }", "bpftrace", 'process("libc.so*").function("malloc").return'),
        ("usdt:/usr/bin/php:php:request__startup { }", "bpftrace",
         'process("/usr/bin/php").provider("php").mark("request__startup")'),
        ("usdt:./tool:begun { }", "bpftrace", 'process("./tool").mark("begun")'),
        ("syscall::read:entry { @x[execname] = count(); }", "DTrace", "syscall.read"),
        ("syscall::read:return /pid == 4/ { }", "DTrace", "syscall.read.return"),
        ("syscall:::entry { }", "DTrace", "syscall.*"),
        ("fbt::vfs_read:entry { }", "DTrace", 'kernel.function("vfs_read")'),
        ("profile:::tick-1s { }", "DTrace", "timer.s(1)"),
        ("tick-10ms { }", "DTrace", "timer.ms(10)"),
        ("profile:::profile-997hz { }", "DTrace", "timer.profile.freq.hz(997)"),
        ("dtrace:::BEGIN { }", "DTrace", "begin"),
        ("sched:::on-cpu { }", "DTrace", "scheduler.cpu_on"),
        ("io:::start { }", "DTrace", "ioblock.request"),
        ("pid$target::malloc:entry { }", "DTrace", 'process.function("malloc")'),
        ("pid123:libc.so.1:malloc:return { }", "DTrace",
         'process(123).library("libc.so*").function("malloc").return'),
        ("mysql*:::query-start { }", "DTrace",
         'process("PROGRAM").provider("mysql").mark("query-start")'),
        ("p:my/probe vfs_read", "ftrace", 'kernel.function("vfs_read")'),
        ("r vfs_read ret=$retval", "ftrace", 'kernel.function("vfs_read").return'),
        ("syscalls:sys_enter_openat", "perf", "syscall.openat"),
        ("sched:sched_switch", "perf", 'kernel.trace("sched:sched_switch")'),
    ],
)  # fmt: skip
def test_other_languages_are_known(text: str, language: str, here: str) -> None:
    found = foreign_language(text)
    assert found is not None
    assert found.language == language
    assert found.here == here or (here.endswith(": ") and found.here.startswith(here))


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "vm" / "cases").rglob("*.stp")))
def test_no_script_of_ours_is_taken_for_another(path: Path) -> None:
    assert foreign_language(path.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize(
    "text",
    ["probe begin { }", "global x probe begin { x = 1 ? 2 : 3 }", "begin { }", "", "x:y", ":",
     "function f:long(a:string) { return 1 }", "private global a", "@define x %( 1 %)"],
)  # fmt: skip
def test_systemtap_is_not_taken_for_another(text: str) -> None:
    found = foreign_language(text)
    assert found is None or text == "x:y"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["probe begin { println(comm) }"], "it is execname()"),
        (["probe begin { if (pid == 5) println(1) }"], "it is pid()"),
        (["probe begin { x = count() }"], "write 'x <<< 1' and read it with @count(x)"),
        (["probe begin { println(copyinstr(5)) }"], "user_string(pointer)"),
        (["probe begin { if (cgroup == 5) println(1) }"], "it is cgroup_id()"),
        (['probe begin { println(cgroupid("/sys/fs/cgroup/x")) }'], 'in_cgroup("/PATH")'),
        (["probe begin { println(strerror(5)) }"], "errno_str(number)"),
        (["probe begin { println(kaddr(5)) }"], '&@var("name")'),
        (["probe begin { println(curcpu) }"], "it is cpu()"),
        (["probe begin { @x[pid()] = 1 }"], "declare 'global x' and write 'x'"),
        (["probe begin { delete(@x, tid) }"], "declare 'global x' and write 'x'"),
        (["probe begin { println(nsecs - timestamp) }"], "it is ktime_get_ns()"),
        (["probe begin { println(arg0) }"], "by number ulong_arg(1), in a mark $arg1"),
        (["probe begin { println(pcomm) }"], "it is pexecname()"),
        (["probe begin { println(args->count) }"], "an argument has its own name: $count, or"),
        (["probe begin { println(args[0]->pr_name) }"], "ulong_arg(1), pointer_arg(1)"),
        (["probe begin { println(args[0]) }"], "ulong_arg(1), pointer_arg(1)"),
        (["probe begin { self->ts = 5 }"], "'global ts', then ts[tid()]"),
        (["probe begin { println(self->ts) }"], "'global ts', then ts[tid()]"),
        (["probe begin { this->ts = 5 }"], "needs no declaration: ts"),
        (["probe begin { println(curtask->comm) }"], '@cast(task_current(), "task_struct")->comm'),
        (["probe begin { println(fds[0]) }"], "fullpath_struct_file(task_current(), "),
        (["probe begin { $x = 5; println($x) }"], "one of a handler has none: x"),
        (['probe kernel.function("vfs_read") { $x = 5 }'], "one of a handler has none: x"),
        (['probe kernel.function("vfs_read") { $pos = 5 }'], "add -g when you are sure"),
        (['probe kernel.function("vfs_read") { $coutn = 5 }'], "add -g when you are sure"),
        (["probe begin { x = ((struct file *)5)->f_pos }"], '@cast(value, "file")->member'),
        (["probe begin { println(sizeof(struct file)) }"], '@cast_sizeof("file")'),
        (["probe begin { println(offsetof(struct file, f_pos)) }"], '@offsetof("file", member)'),
        (["probe begin { println((uint64)5) }"], "leave '(uint64)' out"),
        (["probe begin { println(stack()) }"], "print_backtrace() or sprint_backtrace()"),
        (["probe begin { println(cgroup_path(5)) }"], "task_cgroup_path(task) of another"),
        (["probe begin { unroll (5) { println(1) } }"], "for (i = 0; i < n; i++)"),
        (["global x; probe begin { for ($kv : x) { println(1) } }"], "foreach (key in array)"),
        (["probe begin { $$vars = 1 }"], "add -g when you are sure"),
        (['probe begin { printf("%r", 5) }'], "'%.16M' prints sixteen bytes"),
        (['probe begin { printf("%s took %r us", "x", 5) }'], "'%.16M' prints sixteen bytes"),
        (['probe begin { printf("%Y", 5) }'], "ctime(gettimeofday_s())"),
        (["fn add($x : uint64) { }"], "write 'function NAME(…) { … }'"),
        (["struct pair { int x; };"], "types are those of the kernel"),
        (["probe begin { println($1) }", "abc"], "@1 is the text of this argument"),
        (["probe begin { x = 5 + $2 println(x) }", "4", "word"], "@2 is the text of this argument"),
        (['probe kernel.trace("syscalls:sys_enter_open") { println(1) }'], "use syscall.open: "),
        (['probe kernel.trace("sys_exit_read") { println(1) }'], "use syscall.read.return: "),
        (["kprobe:vfs_read { }"], 'write here: probe kernel.function("vfs_read") { … }'),
        (["probe kprobe:vfs_read { }"], 'write here: probe kernel.function("vfs_read") { … }'),
    ],
)
def test_hints(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "-e", *words])
    said = capsys.readouterr().err
    assert f"hint: {hint}" in said or hint in said.partition("hint: ")[2].splitlines()[0], said


def test_names_of_other_places() -> None:
    assert tracepoint("syscalls:sys_enter_mmap") == "syscall.mmap"
    assert old_function("SyS_open") == old_function("sys_open") == "syscall.open"
    assert old_function("vfs_open") == ""


def test_a_folder_of_path_that_cannot_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, open_ = tmp_path / "closed", tmp_path / "open"
    for folder in (closed, open_):
        folder.mkdir()
    (open_ / "tool").write_text("#!/bin/sh\n")
    (open_ / "tool").chmod(0o755)
    closed.chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{closed}:{open_}")
    assert find_program("tool") == str(open_ / "tool")
    if os.geteuid() == 0:  # to whom no folder is closed
        os.chown(closed, 65534, 65534)
        code = "from stapy.build.process import find_program; print(find_program('tool'))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            preexec_fn=bound_by_permissions,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == str(open_ / "tool"), done.stderr


@pytest.mark.parametrize("name", ["ply", "jinja2"])
def test_a_package_that_is_missing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(
        f"raise ModuleNotFoundError('No module named {name}', name='{name}')"
    )
    words = ["-p3", "--disable-cache", "-e", "probe begin { exit() }"]
    variables = {
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "SYSTEMTAP_DIR": str(tmp_path / "systemtap"),
    }
    done = run_stapy(*words, env=variables)
    assert done.returncode == 1
    assert done.stderr.startswith(f"ERROR: the Python package '{name}', which stapy needs, "), (
        done.stderr
    )
    assert "\n" not in done.stderr.strip() and f"pip install {name}" in done.stderr


@pytest.mark.parametrize(
    ("point", "here"), [("interval.s(1)", "timer"), ('tracepoint("x")', "kernel.trace")]
)
def test_families_of_bpftrace(point: str, here: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-p2", "-e", f"probe {point} {{ println(1) }}"]) == 1
    assert f"did you mean '{here}'?" in capsys.readouterr().err


def test_a_comment_is_no_filter() -> None:
    assert foreign_language("probe syscall.read /* pid == 5 */ { }") is None

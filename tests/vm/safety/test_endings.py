"""How a session ends: processes that end, signals at bad moments, readers that leave, files."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import run_script
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

TICKS = """
probe begin { printf("begin %d\\n", target()) }
probe timer.ms(20) { println("tick") }
probe end { println("end") }
"""
LATE = """
probe begin { println("begin") }
probe timer.ms(5) { for (i = 0; i < 200; i++) printf("%d %s\\n", i, "xxxxxxxxxxxxxxxxxxxxxxxxxxx") }
probe end { for (i = 0; i < 300; i++) printf("end %d\\n", i) }
"""
QUIET = """
probe begin { println("begin") }
probe end { println("end") error("too late") }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    return make(release, folder, ticks=TICKS, late=LATE, quiet=QUIET)


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_signal_while_much_is_printed(pair: Machine, modules: dict[str, Path], name: str) -> None:
    """What the end probes print comes whole, though the rings are full of other things."""
    text = f"""
    $run $late >out 2>err & run_pid=$!
    wait_for '[ $(wc -c <out) -gt 20000 ]'; kill -{name} $run_pid; wait $run_pid; echo status=$?
    head -n 1 out; grep -c '^end ' out; tail -n 1 out; loaded late; folders; cat err
    """
    lines, _ = shell(pair, modules, text)
    assert lines[:6] == ["status=0", "begin", "300", "end 299", "0", "0"], lines


def test_a_signal_before_the_module_is_in(guest: Machine, modules: dict[str, Path]) -> None:
    """At each moment of the start: the module is gone when the consumer is."""
    text = """
    start=$(now); $run -T 0.1 $ticks >/dev/null; usual=$(($(now) - start))
    for part in 2 4 5 6 7 8 9 10; do
        $run $ticks >out 2>err & run_pid=$!
        wait=$((usual * part / 10)); sleep $((wait / 100)).$(printf %02d $((wait % 100)))
        kill -TERM $run_pid; wait $run_pid; echo status=$?
        [ $(loaded ticks) = 0 ] && [ $(folders) = 0 ] || echo left
        grep begin out >/dev/null && [ "$(tail -n 1 out)" != end ] && echo 'no end'
    done
    """
    lines, result = shell(guest, modules, text, 100)
    assert "left" not in lines and "no end" not in lines, (lines, result.stderr)
    assert len(lines) == 8
    # Before Python has come as far as our handlers, the signal kills.
    assert set(lines) <= {"status=0", "status=143", "status=1"}, lines


@pytest.mark.parametrize("reader", ["head -n 1", "true", "sh -c 'read line; echo $line'"])
def test_reader_that_leaves(guest: Machine, modules: dict[str, Path], reader: str) -> None:
    text = f"""
    {{ $run $late 2>err; echo status=$? >&2; }} 2>status | {reader}
    cat status err; loaded late; folders
    """
    lines, _ = shell(guest, modules, text)
    assert lines[-3:] == ["status=0", "0", "0"], lines
    assert "begin" in lines or reader == "true"


def test_closed_standard_streams(guest: Machine, modules: dict[str, Path]) -> None:
    """No descriptor of ours may become what the script prints to."""
    text = """
    $run -T 0.3 $ticks >&- 2>err; echo status=$?; cat err
    $run -T 0.3 $ticks 2>&- >out; echo status=$?; tail -n 1 out
    $run -T 0.3 $ticks <&- >out; echo status=$?; tail -n 1 out
    loaded ticks; folders
    """
    lines, _ = shell(guest, modules, text)
    assert lines[-6:] == ["status=0", "end", "status=0", "end", "0", "0"], lines
    assert lines[0] in ("status=0", "status=1")


def test_full_disk(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    mkdir d; mount -t tmpfs -o size=64k none d
    $run -T 20 -o d/out $late 2>err; echo status=$?; grep -c 'No space left' err
    $run -T 20 $late >/dev/full 2>err; echo status=$?; cat err; loaded late; folders; umount d
    """
    lines, result = shell(guest, modules, text)
    assert lines[:2] == ["status=1", "1"], (lines, result.stderr)
    said = "ERROR: Couldn't write standard output: No space left on device"
    assert lines[2:4] == ["status=1", said], lines
    assert lines[-2:] == ["0", "0"]


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("sh -c 'exit 7'", 1, "WARNING: Child process exited with status 7"),
        ("sh -c 'kill -SEGV $$'", 1, "WARNING: Child process exited with signal 11"),
        ("sleep 0.2", 0, ""),
    ],
)
def test_commands(
    guest: Machine, modules: dict[str, Path], command: str, status: int, said: str
) -> None:
    text = f'$run -c "{command}" $ticks 2>err; echo status=$?; loaded ticks; cat err'
    text = text.replace("$$", "\\$\\$")
    lines, _ = shell(guest, modules, text)
    assert lines[0].startswith("begin ") and lines[0] != "begin 0"
    assert f"status={status}" in lines
    assert lines[lines.index(f"status={status}") - 1] == "end"
    assert lines[lines.index(f"status={status}") + 1] == "0"
    assert said in "\n".join(lines)


@pytest.mark.parametrize(
    ("command", "why"),
    [("/no/such/program", "No such file or directory"), ("/etc/passwd", "Permission denied")],
)
def test_commands_that_cannot_run_are_refused_before_loading(
    guest: Machine, modules: dict[str, Path], command: str, why: str
) -> None:
    text = f'$run -c "{command}" $ticks 2>err; echo status=$?; loaded ticks; cat err'
    lines, _ = shell(guest, modules, text)
    assert lines[:2] == ["status=1", "0"]
    assert why in lines[2]


def test_target_that_ends_does_not_end_the_session(
    guest: Machine, modules: dict[str, Path]
) -> None:
    """Go on when the target ends: as in SystemTap, -x only sets target()."""
    text = """
    sleep 1 & $run -x $! -T 3 $ticks >out; echo status=$?
    [ "$(head -n 1 out)" = "begin $!" ] && echo target
    kill -0 $! 2>/dev/null || echo gone
    tail -n 1 out; [ $(wc -l <out) -gt 80 ] && echo went on
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["status=0", "target", "gone", "end", "went on"], (lines, result.stderr)


def test_output_files(guest: Machine, modules: dict[str, Path]) -> None:
    text = """
    $run -T 0.5 -o 'by-%Y-%j' $ticks; ls; head -n 1 by-$(date +%Y-%j)
    rm by*; $run -T 15 -o many -S 1,3 $late & run_pid=$!
    wait_for '[ -e many.4 ]'; kill -INT $run_pid; wait $run_pid; echo status=$?
    ls | wc -l; [ -e many.0 ] || echo rotated; tail -qn 1 $(ls -t many.* | head -n 1)
    for file in many.*; do [ $(stat -c %s $file) -le 1048576 ] || echo too large; done
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines[0].startswith("by-2")
    assert lines[1:] == ["begin 0", "status=0", "3", "rotated", "end 299"], (lines, result.stderr)


def test_error_in_the_end_probe(guest: Machine, modules: dict[str, Path]) -> None:
    lines, result = shell(guest, modules, "$run -T 0.2 $quiet; echo status=$?; loaded quiet")
    assert lines == ["begin", "end", "status=1", "0"], lines
    assert b"ERROR: too late near" in result.stderr


def test_output_that_a_killed_consumer_read_in_part(
    guest: Machine, modules: dict[str, Path]
) -> None:
    """Whoever opens it before the module goes finds its end."""
    text = """
    insmod $ticks; rmmod=$(readlink -f $(command -v rmmod)); mount --bind /bin/false $rmmod
    folder=/proc/stapy_ticks
    (echo "start 0" >&3; sleep 0.5; dd if=$folder/output bs=4 count=1 2>err; echo
     echo stop >&3) 3>$folder/control
    cat /sys/module/ticks/parameters/stapy_state; cat $folder/output; echo status=$?
    umount -l $rmmod # the kernel's helper may be running it
    $run -d ticks 2>err; wait_for '[ $(loaded ticks) = 0 ]'
    """
    lines, result = shell(guest, modules, text)
    assert lines == ["begi", "stopped", "status=0"], (lines, result.stderr)


@pytest.mark.parametrize("status", [5, -5])
def test_hook_that_fails(guest: Machine, status: int) -> None:
    """A positive number, too, is no success."""
    script = (
        f"%{{ static int hook(void) {{ return {status}; }}\n"
        "#define STAP_MODULE_INIT_HOOK hook\n%} "
        'probe begin { println("begin") }'
    )
    result = run_script(guest, script, "-g")
    assert result.status == 1 and "begin" not in result.stdout, result.stdout
    assert f"ERROR: Failed to run STAP_MODULE_INIT_HOOK ({status})" in result.stderr, result.stderr


def test_nobody_opens_what_was_loaded(guest: Machine, release: str, tmp_path: Path) -> None:
    """Killed between loading and opening, or between its last word and removing the module."""
    script = (
        "global large[20000] probe begin { large[pp()] = pp() } probe timer.s(1) { println(1) }"
    )
    names = ("never", "helpless", "dismissed", "detached", "open")
    modules = make(release, tmp_path, **dict.fromkeys(names, script))
    text = r"""
    for name in never helpless dismissed detached open; do eval insmod \$$name; done
    start=$(now); state never
    (echo dismiss >&3) 3>/proc/stapy_dismissed/control
    (echo 'start 0' >&3; echo detach >&3) 3>/proc/stapy_detached/control
    exec 4<>/proc/stapy_open/control
    # Where nothing removes it, it ends and gives its memory back all the same.
    rmmod=$(readlink -f $(command -v rmmod)); mkdir real; cp $rmmod real/rmmod
    printf '#!/bin/sh\n[ "$1" != helpless ] || exit 1\nexec %s/real/rmmod "$@"\n' $PWD >fake
    chmod +x fake; mount --bind fake $rmmod
    wait_for '[ $(loaded never) = 0 ] && [ $(loaded dismissed) = 0 ]'
    wait_for '[ "$(state helpless)" = stopped ]'
    [ $(($(now) - start)) -lt 2900 ] && echo early
    wait_for '! grep -q "\[helpless\]" /proc/vmallocinfo'
    grep -c '\[detached\]' /proc/vmallocinfo | grep -v '^0' >/dev/null && echo kept
    state detached; state open
    echo 'start 0' >&4 && state open
    (echo 'start 0' >&3) 3>/proc/stapy_helpless/control || echo over
    umount -l $rmmod; exec 4>&-
    wait_for '[ $(loaded open) = 0 ]'
    $run -T 0.5 $helpless >out 2>err; echo status=$?
    $run -d detached; folders; grep -c '^\(never\|dismissed\|helpless\) ' /proc/modules
    """
    lines, result = shell(guest, modules, text, 120)
    expected = ["loaded", "kept", "running", "loaded", "running", "over", "status=0", "0", "0"]
    assert lines == expected, (lines, result.stderr)

"""Files of procfs probes, as programs in the guest read and write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stapy.vm.machine import Machine
from tests.vm.harness import build
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
global reads, asked = "nothing"
probe procfs("state/answer").read {
    $value = sprintf("%d: ", ++reads)
    $value .= asked
    $value .= "\\n"
}
probe procfs("state/answer").write { asked = substr($value, 0, strlen($value) - 1) }
probe procfs("state/other").write { printf("[%s]", $value) }
probe procfs("many").umask(0040).read.maxsize(5000) {
    for (i = 0; i < 500; i++) $value .= "0123456789"
}
probe procfs.read { $value = "this is longer than what there is room for" }
probe procfs("short").read.maxsize(10) { $value = "1234567890" $value .= "lost" $value .= "" }
probe procfs("fails").read { $value = "x"; if (reads >= 0) error("no answer") }
probe procfs("quiet").read if (reads > 1000) { $value = "never" }
probe timer.ms(100) { if (asked == "stop") exit() }
probe end { println("end") }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    found = {}
    options = ["-D", "MAXERRORS=5", "-e", SCRIPT]
    for name in ("files", "others"):
        made = build(release, ["-m", name, *options], folder)
        assert made.module, made.stderr
        found[name] = made.module
    return found


SESSION = """
dir=/proc/systemtap/files
wait_for() { n=0; until eval "$1"; do sleep 0.1; n=$((n+1)); [ $n -lt 3000 ] || break; done; }
begin() { $run $files >out 2>err & run_pid=$!; wait_for 'cat $dir/command >/dev/null 2>&1'; }
end() { echo stop >$dir/state/answer; wait $run_pid; echo status $?; }
"""


def test_what_is_read_and_written(guest: Machine, modules: dict[str, Path]) -> None:
    text = f"""{SESSION}
    begin
    cat $dir/state/answer; echo question >$dir/state/answer; cat $dir/state/answer
    exec 3<>$dir/state/answer; echo again >&3; cat <&3; exec 3>&-
    wc -c <$dir/many; dd if=$dir/many bs=7 2>/dev/null | wc -c; cat $dir/short; echo
    cat $dir/quiet; cat $dir/fails 2>&1
    printf abc >$dir/state/other; head -c 1000 /dev/zero | tr '\\0' x >$dir/state/other
    stat -c '%a %n' $dir/* $dir/state/*
    end; wc -c <out; tail -n 1 out | tail -c 4; cat err; ls /proc/systemtap 2>&1
    """
    lines = output(shell(guest, modules, text))
    assert lines[:3] == ["1: nothing", "2: question", "3: again"], lines
    assert lines[3:6] == ["5000", "5000", "1234567890"], lines
    assert lines[6].endswith("fails: Input/output error"), lines
    assert lines[7:14] == [
        "400 /proc/systemtap/files/command",
        "400 /proc/systemtap/files/fails",
        "404 /proc/systemtap/files/many",
        "400 /proc/systemtap/files/quiet",
        "400 /proc/systemtap/files/short",
        "555 /proc/systemtap/files/state",
        "600 /proc/systemtap/files/state/answer",
    ], lines
    assert lines[14] == "200 /proc/systemtap/files/state/other"
    # In pieces that a string holds: nothing of what was written is lost.
    assert lines[15:18] == ["status 1", str(len("[abc]") + 1000 + 2 * 2 + len("end\n")), "end"]
    assert sorted(lines[18:20]) == [
        "ERROR: no answer near identifier 'error' at <input>:15:60 in probe procfs(\"fails\").read",
        'WARNING: procfs("short").read.maxsize(10): 4 bytes of $value did not fit into 10; '
        ".maxsize(N) makes room",
    ], lines
    assert lines[-1].endswith("/proc/systemtap': No such file or directory"), lines


def test_sessions_share_the_folder(guest: Machine, modules: dict[str, Path]) -> None:
    """It goes with the last one, whose reader may have its file open meanwhile."""
    text = f"""{SESSION}
    begin; exec 4<$dir/state/answer
    $run $others >out2 2>err2 & other_pid=$!
    wait_for 'cat /proc/systemtap/others/command >/dev/null 2>&1'
    ls /proc/systemtap; head -c 2 <&4
    end; ls /proc/systemtap; cat <&4; exec 4<&-
    kill -INT $other_pid; wait $other_pid; echo status $?; cat err2
    [ -e /proc/systemtap ]; echo gone $?
    """
    result = shell(guest, modules, text)
    lines = output(result)
    assert lines[:2] == ["files", "others"], lines
    assert lines[2:] == ["1:status 0", "others", "status 0", "gone 1"], (lines, result.stderr)
    assert result.left_modules == []


def test_killed_consumer(guest: Machine, modules: dict[str, Path]) -> None:
    """Nobody tells the module to stop: it does when it is left, and its files go."""
    text = f"""{SESSION}
    begin; exec 4<$dir/many; head -c 3 <&4; echo; kill -9 $run_pid; wait $run_pid 2>/dev/null
    wait_for '! grep -q "^files " /proc/modules'
    cat <&4 | wc -c; [ -e /proc/systemtap ]; echo gone $?; grep -c '^files ' /proc/modules
    """
    result = shell(guest, modules, text)
    assert output(result) == ["012", "0", "gone 1", "0"], result.stderr


def test_room_by_option(guest: Machine, release: str, tmp_path: Path) -> None:
    """For all files without .maxsize()."""
    script = """probe procfs.read { for (i = 0; i < 100; i++) $value .= "0123456789" }
    probe procfs("some").read.maxsize(20) { for (i = 0; i < 100; i++) $value .= "0123456789" }"""
    made = build(release, ["-D", "STP_PROCFS_BUFSIZE=700", "-m", "files", "-e", script], tmp_path)
    assert made.module, made.stderr
    text = f"{SESSION} begin; wc -c <$dir/command; wc -c <$dir/some; kill $run_pid; wait $run_pid"
    assert output(shell(guest, {"files": made.module}, text)) == ["700", "20"]


COLLECTED = """
global calls
probe begin {
    calls["cat", "read"] = 12; calls["a \\"b\\" \\\\", "write"] = -3
    json_set_prefix("mine"); json_add_numeric_metric("n", "how many", "reads")
    json_add_string_metric("t", "")
}
probe prometheus {
    $value = "# TYPE calls gauge\\n"
    @prometheus_dump_array2(calls, "calls", "program", "call")
}
probe json_data {
    @json_output_data_start
    @json_output_numeric_value("n", 5)
    @json_output_string_value("t", "a \\"b\\"\\n\\001ä")
    @json_output_data_end
}
"""
# Files whose size is not known beforehand: they are read to their end.
SERVER = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Files(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(open(self.path[1:], "rb").read())
HTTPServer(("127.0.0.1", 8000), Files).serve_forever()
"""
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())"


def test_collectors_read_what_a_session_tells(guest: Machine, release: str, tmp_path: Path) -> None:
    """Over HTTP, by Prometheus's own parser and by that of JSON."""
    made = build(release, ["-m", "files", "-e", COLLECTED], tmp_path)
    assert made.module, made.stderr
    text = f"""{SESSION}
    $run $files >out 2>err & run_pid=$!; wait_for 'cat $dir/__prometheus >/dev/null 2>&1'
    (cd $dir && exec python3 -c '{SERVER}' >/dev/null 2>&1) & server=$!
    fetch() {{ python3 -c '{FETCH}' http://127.0.0.1:8000/$1; }}
    wait_for 'fetch data.json >/dev/null 2>&1'
    fetch __prometheus; echo ----; fetch data.json; echo ----; fetch metadata.json
    kill $server $run_pid; wait $run_pid
    """
    done = "\n".join(output(shell(guest, {"files": made.module}, text)))
    metrics, data, about = done.split("----")
    (family,) = text_string_to_metric_families(metrics)
    assert {(row.labels["program"], row.labels["call"]): row.value for row in family.samples} == {
        ("cat", "read"): 12,
        ('a "b" \\', "write"): -3,
    }
    assert json.loads(data) == {"n": 5, "t": 'a "b"\n\x01ä'}
    assert json.loads(about)["prefix"] == "mine"


# A read whose buffer is a page that only userfaultfd could give, and nobody does.
SLEEPER = r"""
import ctypes, fcntl, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
faults = libc.syscall(323, os.O_CLOEXEC)
fcntl.ioctl(faults, 0xC018AA3F, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
fcntl.ioctl(faults, 0xC020AA00, bytearray(struct.pack("QQQQ", address, 4096, 1, 0)))
file = os.open(sys.argv[1], os.O_RDWR)
print("sleeps", flush=True)
(libc.read if sys.argv[2] == "read" else libc.write)(file, ctypes.c_void_p(address), 10)
"""


@pytest.mark.parametrize("way", ["read", "write"])
def test_who_sleeps_in_a_file_holds_nothing_but_the_module(
    guest: Machine, modules: dict[str, Path], way: str
) -> None:
    text = f"""{SESSION}
    cat >sleeper.py <<'END'
{SLEEPER}
END
    begin; python3 sleeper.py $dir/state/answer {way} >said & sleeper=$!
    wait_for 'grep -q sleeps said'; sleep 1
    kill -INT $run_pid; wait $run_pid; echo status $?; grep -c 'read or write of /proc' err
    cat /sys/module/files/parameters/stapy_state; cat $dir/command 2>&1 | sed 's/.*: //'
    kill -9 $sleeper; wait $sleeper 2>/dev/null
    rmmod files && echo removed; [ -e /proc/systemtap ]; echo gone $?
    """
    result = shell(guest, modules, text)
    assert output(result) == [
        *("status 1", "1", "stopped", "No such device", "removed", "gone 1")
    ], result.stderr


def test_modes_and_memory(guest: Machine, release: str, tmp_path: Path) -> None:
    """Who is not meant to read cannot; who may open many files does not get all memory."""
    script = """probe procfs("none").umask(0777).read { $value = "secret" }
    probe procfs("big").umask(0).read.maxsize(1048576) { $value = "big" }
    probe procfs("text").write { printf("[%s]", $value) }"""
    made = build(release, ["-m", "files", "-e", script], tmp_path)
    assert made.module, made.stderr
    text = rf"""{SESSION}
    cat >many.py <<'END'
import errno, os
os.setuid(65534)
try: open("/proc/systemtap/files/none").read(); print("read")
except PermissionError: print("refused")
files = []
try:
    while len(files) < 500:
        files.append(os.open("/proc/systemtap/files/big", os.O_RDONLY))
        assert os.pread(files[-1], 9, 0) == b"big"
except OSError as error: print(errno.errorcode[error.errno], len(files))
END
    $run $files >out & run_pid=$!; wait_for '[ -e $dir/text ]'
    python3 many.py; cat $dir/none $dir/big; echo; printf 'abc\0def' >$dir/text
    kill $run_pid; wait $run_pid; cat out
    """
    assert output(shell(guest, {"files": made.module}, text)) == [
        *("refused", "ENFILE 64", "secretbig", "[abc][def]")
    ]

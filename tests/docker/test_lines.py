"""Modules that a container makes, for kernels whose compiler this machine lacks, run in guests.

``make docker-test`` brings daemon, image and kernels, and names the kernels in STAPY_TEST_KERNELS.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stapy.build.daemon import ContainerError, Docker
from stapy.build.driver import RuntimeObjects, open_kit
from stapy.build.images import choose, open_container, prepare
from stapy.build.tools import Tools
from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import Kernel, find_kernel
from stapy.paths import cache_dir, data_dir
from tests.program import run_stapy, stapy_command

pytestmark = pytest.mark.docker

ROOT = Path(__file__).resolve().parents[2]
# Kernels of this machine's own suite need no container.
RELEASES = [
    name for name in os.environ.get("STAPY_TEST_KERNELS", "").split() if "+deb12" not in name
]
BATTERY = """
global opened, closed, returned, switched
probe begin { println("begin") }
probe timer.ms(200) { println("timer") }
probe kernel.function("vfs_read") {
  if (pid() == target() && $count == 77) println("count ", $count)
}
probe kernel.function("vfs_read").return { if (pid() == target() && $return == 33) returned++ }
probe kernel.trace("sched_switch") { switched++ }
probe syscall.openat {
  if (pid() == target()) { opened++ if (isinstr(argstr, "hostname")) println("opens ", argstr) }
}
probe syscall.close.return { if (pid() == target() && retval == 0) closed++ }
probe syscall.getppid { if (pid() == target()) { print_backtrace() } }
probe end {
  printf("opened %d closed %d returned %d switched %d\\n",
         opened > 0, closed > 0, returned > 0, switched > 0)
}
"""
# 33 bytes are there, 77 are asked for.
WORK = (
    "import os; f = os.open('/etc/hostname', os.O_RDONLY); os.close(f); r, w = os.pipe();"
    "f = os.open('/tmp/data', os.O_RDWR | os.O_CREAT); os.write(f, bytes(33)); os.lseek(f, 0, 0);"
    "os.read(f, 77); os.close(f); os.getppid(); import time; time.sleep(1)"
)


@pytest.fixture(scope="module", params=RELEASES or ["no kernel"])
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    if not RELEASES:
        pytest.skip("STAPY_TEST_KERNELS names no kernel of another suite: see make docker-test")
    kernel = find_kernel(request.param, Diagnostics(SourceMap()))
    try:
        prepare(choose("auto", kernel), print)
    except ContainerError as error:
        pytest.skip(f"{error}: {error.hint}")
    yield kernel


def stapy(kernel: Kernel, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of stapy for that kernel."""
    return run_stapy("--build-in=auto", *words)


def wait_for(condition: Callable[[], object], seconds: int) -> None:
    """Look again and again; the machine is busy."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def containers(*, running: bool = False) -> list[str]:
    """List our containers that are there, running or not."""
    wanted = {"label": "stapy.process", **({"status": "running"} if running else {})}
    return [c.id for c in Docker().client.containers.list(all=True, filters=wanted)]


@pytest.fixture
def tools(kernel: Kernel, tmp_path: Path) -> Iterator[Tools]:
    """Open the container of a command."""
    tools = open_container(choose("auto", kernel), kernel, data_dir("runtime"), tmp_path)
    yield tools
    tools.close()


def said(tools: Tools, text: str) -> list[str]:
    """Return what a shell in there prints, by lines."""
    return tools.run(["/bin/sh", "-c", text]).output.splitlines()


def test_a_container_may_do_nothing(tools: Tools, tmp_path: Path) -> None:
    status = "grep -E '^(CapEff|CapBnd|NoNewPrivs):' /proc/self/status"
    assert said(tools, status) == ["CapEff:\t" + "0" * 16, "CapBnd:\t" + "0" * 16, "NoNewPrivs:\t1"]
    assert said(tools, "cat /proc/net/dev | tail -n +3 | cut -d: -f1") == ["    lo"]
    for place in ("/", "/usr", str(data_dir("runtime")), str(cache_dir() / "kit")):
        (line,) = said(tools, f"touch {place}/x")
        assert re.search("Read-only file system|Permission denied", line)
    there = said(tools, f"ls {cache_dir()}")
    assert set(there) <= {"kit", "unit", "trees", "kernels"}
    assert not said(tools, f"ls {cache_dir()}/kernels/boot 2>/dev/null")
    if os.getuid() == 0:
        assert said(tools, "id -u") == ["65534"]
    # What it puts into a folder of ours is looked at, and nothing else.
    (tmp_path / "x").write_text("ours")
    assert said(tools, f"cat {tmp_path}/x; echo theirs >{tmp_path}/y") == ["ours"]
    assert (tmp_path / "y").read_text() == "theirs\n"
    with pytest.raises(ContainerError, match="link' is not a regular file"):
        said(tools, f"ln -s /etc/passwd {tmp_path}/link")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "scratch") == ["x", "y"]


def test_limits(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stapy.build.container.MEMORY_MB", 64)
    monkeypatch.setattr("stapy.build.container.PROCESSES", 8)
    with pytest.raises(ContainerError, match="64 MB of memory"):
        said(tools, "tail /dev/zero")
    with pytest.raises(ContainerError, match="may have 8 processes"):
        said(tools, "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; wait; exit 1")
    time.sleep(2)
    assert said(tools, "echo again") == ["again"]  # what was left behind is waited for


@pytest.mark.vm
def test_a_battery(kernel: Kernel) -> None:
    command = f'python3 -c "{WORK}"'
    done = stapy(kernel, f"--vm={kernel.release}", "-c", command, "-e", BATTERY)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert f"kernel {kernel.release} is built with {kernel.compiler}" in done.stderr
    for line in ("begin", "timer", "count 77", "opened 1 closed 1 returned 1 switched 1"):
        assert re.search(rf"^{line}$", done.stdout, re.M), output
    assert re.search(r'^opens .*"/etc/hostname"', done.stdout, re.M), output
    assert re.search(r"^ 0xffffffff\w+ : \w+getppid\+0x", done.stdout, re.M), output
    assert not containers()


def test_every_part_of_the_runtime_compiles(kernel: Kernel, tmp_path: Path) -> None:
    runtime = data_dir("runtime")
    info = Debuginfo(kernel, Cache(tmp_path / "none", is_enabled=False), Diagnostics(SourceMap()))
    tools = open_container(choose("auto", kernel), kernel, runtime, tmp_path)
    try:
        kit = open_kit(
            kernel,
            runtime,
            Cache(tmp_path / "cache", is_enabled=False),
            tmp_path,
            lambda: kernel_facts(kernel, info.btf, kernel.exports),
            tools,
        )
        objects = RuntimeObjects(
            kit, runtime, Cache(tmp_path / "cache", is_enabled=False), tmp_path
        )
        objects.provide_all()
    finally:
        tools.close()
    assert not objects.broken, objects.broken


def test_a_command_that_is_killed_leaves_no_container(kernel: Kernel, tmp_path: Path) -> None:
    script = 'probe begin { printf("%s", "%") exit() } // ' + os.urandom(4).hex()
    words = ["--build-in=auto", "--disable-cache", "-p4", "-r", kernel.release, "-e", script]
    command = subprocess.Popen(
        stapy_command(*words), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    wait_for(lambda: containers(running=True), 120)
    command.send_signal(signal.SIGKILL)
    command.wait()
    wait_for(lambda: not containers(), 60)

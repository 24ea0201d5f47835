"""What needs no machine: frames, archives, the reading of kernel logs, kernels, cases."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stapy.kernel.config import Config
from stapy.kernel.release import release_order
from stapy.run.options import RunOptions
from stapy.vm import agent, classify, frames, initramfs, kernels, qemu, session, tree
from stapy.vm.cpio import Archive
from stapy.vm.errors import VmError
from stapy.vm.frames import Command, Decoder, pack
from stapy.vm.machine import PANIC, Machine, VmResult
from stapy.vm.mirror import Mirror
from stapy.vm.session import folder_of
from tests.vm.harness import read_case, releases
from tests.vm.needs import need


@given(
    st.lists(st.tuples(st.sampled_from([b"O", b"E", b"Z"]), st.binary(max_size=300))),
    st.integers(1, 50),
)
def test_frames_survive_any_cut(sent: list[tuple[bytes, bytes]], size: int) -> None:
    stream = b"".join(pack(kind, payload) for kind, payload in sent)
    decoder = Decoder()
    got = []
    for at in range(0, len(stream), size):
        got += decoder.feed(stream[at : at + size])
    assert got == sent


def test_nonsense_is_no_frame() -> None:
    with pytest.raises(ValueError, match="frame of"):
        Decoder().feed(b"O\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "command",
    [
        Command(["true"], {}),
        Command(["sh", "-c", "a=1; b"], {"A": "x=y", "B": "", "C": "two\nlines"}, "/tmp", True),
        Command(["echo", "", "\udcff"], {"PATH": "/bin"}),
    ],
)
def test_command_survives_the_wire(command: Command) -> None:
    again = Command.decode(command.encode())
    for name in ("argv", "env", "cwd", "stdin"):
        assert getattr(again, name) == getattr(command, name)


def test_archive_is_read_by_busybox(tmp_path: Path) -> None:
    archive = Archive()
    archive.file("deep/er/file", b"content\n", 0o755)
    archive.link("deep/link", "er/file")
    archive.folder("empty")
    try:
        busybox = tree.busybox()
    except VmError as error:
        pytest.skip(str(error))
    subprocess.run(
        [busybox, "cpio", "-idm"], input=archive.finish(), cwd=tmp_path, check=True,
        capture_output=True,
    )  # fmt: skip
    assert (tmp_path / "deep/link").read_text() == "content\n"
    assert (tmp_path / "deep/er/file").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "empty").is_dir()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[    3.6] Kernel panic - not syncing: sysrq triggered crash", "panic"),
        ("[    1.0] BUG: kernel NULL pointer dereference, address: 0", "BUG"),
        ("[    1.0] Oops: 0002 [#1] PREEMPT SMP NOPTI", "oops"),
        ("[    1.0] BUG: unable to handle page fault for address: ffff", "oops"),
        ("[    1.0] general protection fault, probably for non-canonical address", "oops"),
        ("[    1.0] WARNING: CPU: 1 PID: 77 at kernel/kprobes.c:1 f+0x1/0x2", "WARNING"),
        ("[    1.0] WARNING: possible circular locking dependency detected", "lockdep"),
        ("[    1.0] rcu: INFO: rcu_preempt self-detected stall on CPU", "RCU stall"),
        ("[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 17s!", "lockup"),
        ("[    1.0] INFO: task x:1 blocked for more than 120 seconds.", "hung task"),
        ("[    1.0] BUG: KASAN: slab-out-of-bounds in f+0x1/0x2", "KASAN"),
        ("[    1.0] kmemleak: 3 new suspected memory leaks", "leak"),
        ("[    1.0] BUG: sleeping function called from invalid context at a.c:1", "BUG"),
        ("[    1.0] BUG: scheduling while atomic: x/1/0x00000002", "BUG"),
        ("[    1.0] refcount_t: underflow; use-after-free.", "corruption"),
        ("[    1.0] stapy: loading out-of-tree module taints kernel.", None),
        ("[    1.0] tsc: Refined TSC clocksource calibration: 2596.103 MHz", None),
        ("[    1.0] perf: interrupt took too long (2501 > 2500)", None),
        ("[    1.0] DEBUG: nothing", None),
        ("[    1.0] BUG kmalloc-64 (Tainted: G    OE): Right Redzone overwritten", "corruption"),
        ("[    1.0] RSP: 0018:ffffd418c0177ce8 EFLAGS: c1e4a602", "emulator"),
        ("[    1.0] RSP: 0018:ffffd418c0177ce8 EFLAGS: 00210246", None),
        ("[    1.0] pagealloc: single bit error", "corruption"),
    ],
)
def test_complaints(line: str, kind: str | None) -> None:
    assert [found for found, _ in classify.complaints(line)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("flags", "told"), [("c1e4a602", "the emulator failed"), ("00010246", "crashed")]
)
def test_whose_fault_a_crash_is(flags: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    log = f"BUG: kernel NULL pointer dereference\nRIP: 0010:0x0\nRSP: 0018:ff EFLAGS: {flags}"
    result = VmResult(PANIC, dmesg=log, complaints=classify.complaints(log), log_path=Path("/log"))
    assert session._report(result, RunOptions()) == 1
    error = capfd.readouterr().err
    assert told in error and "its log is /log" in error


def test_excerpt_begins_at_the_complaint() -> None:
    log = "\n".join(["fine"] * 50 + ["WARNING: CPU: 0 x"] + [f"row {n}" for n in range(99)])
    text = classify.excerpt(log, 3).splitlines()
    assert text == ["WARNING: CPU: 0 x", "row 0", "row 1"]


def test_the_rest_in_a_pipe_is_taken_without_waiting() -> None:
    """Neither for a writer that lives nor for one that never stops."""
    read, write = os.pipe()
    assert list(agent.held(read)) == []
    os.write(write, b"x" * agent.PIPE)
    assert b"".join(agent.held(read)) == b"x" * agent.PIPE
    rounds = 0
    os.write(write, b"more")
    for _ in agent.held(read):
        os.write(write, b"more")
        rounds += 1
    assert 0 < rounds < 10
    os.read(read, 100)
    os.close(write)
    assert list(agent.held(read)) == list(agent.held(-1)) == []
    os.close(read)


def test_newer_kernels_sort_later() -> None:
    names = ["6.12.1-amd64", "6.1.0-9-amd64", "6.1.0-56-amd64", "5.10.0-1-amd64"]
    assert sorted(names, key=release_order) == [names[3], names[1], names[2], names[0]]


def test_missing_kernel_says_how_to_get_it() -> None:
    with pytest.raises(VmError, match=r"no kernel image for 0\.0\.0-none") as error:
        kernels.find("0.0.0-none")
    assert "linux-image-0.0.0-none" in error.value.hint


def test_kernels_of_another_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("6.1.0-9-x", "6.1.0-56-x", "6.12.1-x"):
        modules = tmp_path / "lib/modules" / release
        (modules / "build").mkdir(parents=True)
        (modules / "build/Makefile").write_text("")
        (modules / "modules.dep").write_text("")
        (tmp_path / "boot").mkdir(exist_ok=True)
        (tmp_path / "boot" / f"vmlinuz-{release}").write_text("")
    assert kernels.lines(tmp_path) == ["6.1.0-56-x", "6.12.1-x"]
    assert kernels.default_release(str(tmp_path)) == "6.1.0-56-x"
    asked: list[str] = []
    monkeypatch.setattr(kernels, "way_to_kernel", lambda release, *_: asked.append(release) or "")
    found = kernels.find("6.12.1-x", str(tmp_path))
    assert found.modules == tmp_path / "lib/modules/6.12.1-x"
    assert not found.watches() and found.patience() == 1
    (tmp_path / "boot/config-6.12.1-x").write_text("CONFIG_KALLSYMS=y\nCONFIG_KASAN=y\n")
    found = kernels.find("6.12.1-x", str(tmp_path))
    assert found.watches() and found.patience() > 1
    assert not asked, "apt's lists take a second, and the kernel is here"
    (found.modules / "modules.dep").unlink()
    with pytest.raises(VmError, match="no list of its modules") as error:
        kernels.find("6.12.1-x", str(tmp_path))
    assert error.value.hint == f"depmod -b {tmp_path} 6.12.1-x"


@pytest.mark.build
@pytest.mark.parametrize("release", releases())
def test_modules_come_after_what_they_need(release: str) -> None:
    names = [path.name.partition(".")[0] for path in initramfs.module_order(
        kernels.find(release).modules
    )]  # fmt: skip
    assert "overlay" in names
    if "virtio_pci" in names:
        assert names.index("virtio") < names.index("virtio_pci")


def test_mirror_follows_growth_and_rotation(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "in", tmp_path)
    (tmp_path / "in" / "a").write_text("1")
    mirror.copy()
    (tmp_path / "in" / "a").write_text("12")
    (tmp_path / "in" / "b").write_text("b")
    mirror.copy()
    assert (tmp_path / "a").read_text() == "12"
    (tmp_path / "in" / "a").unlink()
    (tmp_path / "in" / "b").write_text("")
    mirror.copy()
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").read_text() == ""


def test_mirror_replaces_an_older_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old and longer")
    mirror = Mirror(tmp_path / "in", tmp_path)
    (tmp_path / "in" / "a").write_text("new")
    mirror.copy()
    assert (tmp_path / "a").read_text() == "new"


def test_mirror_follows_no_link_that_came(tmp_path: Path) -> None:
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o777)
    victim.write_text("kept")
    mirror = Mirror(tmp_path / "in", shared)
    (tmp_path / "in" / "a").write_text("1")
    mirror.copy()
    (shared / "a").unlink()
    (shared / "a").symlink_to(victim)
    (tmp_path / "in" / "a").write_text("12")
    with pytest.raises(VmError, match="symbolic link"):
        mirror.copy()
    assert victim.read_text() == "kept"


def test_mirror_says_what_it_cannot_write(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "in", tmp_path / "absent")
    (tmp_path / "in" / "a").write_text("new")
    with pytest.raises(VmError, match=r"absent/a.: No such file"):
        mirror.copy()


@pytest.mark.parametrize(
    ("output", "fails"), [("x", False), ("x%H", False), ("no/x", True), (".", True)]
)
def test_output_is_tried_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, fails: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if fails:
        with pytest.raises(VmError, match="Couldn't open output file"):
            folder_of(output)
    else:
        assert folder_of(output) == tmp_path


def test_files_that_take_turns_have_none_without_a_number(tmp_path: Path) -> None:
    assert folder_of(str(tmp_path / "x"), in_turns=True) == tmp_path
    assert not [*tmp_path.iterdir()]
    with pytest.raises(VmError, match="Couldn't open output file"):
        folder_of(str(tmp_path / "no/x"), in_turns=True)


def test_case_file(tmp_path: Path) -> None:
    path = tmp_path / "x.stp"
    path.write_text(
        "# A case.\n# args: -g -e 'a b'\n# expect: ^one$\n# expect: two\n# status: 1\n"
        "# command: true\n# kernel: 6.5\n\nprobe begin {}\n# expect: not this\n"
    )
    case = read_case(path)
    assert case.args == ["-g", "-e", "a b"]
    assert case.expect == ["^one$", "two"]
    assert (case.status, case.command) == (1, "true")
    assert case.runs_on("6.12.1") and not case.runs_on("6.1.0-56")


def test_what_a_kernel_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases say what they need of a kernel, and the reason of their skip has what is missing."""
    path = tmp_path / "x.stp"
    path.write_text("# needs: CONFIG_NFSD CONFIG_SMP\n# needs: CONFIG_RAID6_PQ\nprobe begin {}\n")
    config = tmp_path / "config"
    config.write_text("CONFIG_SMP=y\n# CONFIG_NFSD is not set\n")
    found = kernels.GuestKernel("x", tmp_path, tmp_path, Config([config]))
    monkeypatch.setattr(kernels, "find", lambda release: found)
    with pytest.raises(pytest.skip.Exception) as skipped:
        need("x", *read_case(path).needs)
    assert str(skipped.value) == "this kernel has no CONFIG_NFSD and no CONFIG_RAID6_PQ"
    config.write_text("CONFIG_NFSD=m\nCONFIG_SMP=y\nCONFIG_RAID6_PQ=y\n")
    found.config = Config([config])
    need("x", *read_case(path).needs)


class Starved:
    """An emulator that others keep from the host's processors, for a time or but once."""

    def __init__(self, seconds: float) -> None:
        self.port, self._inner = socket.socketpair()
        self._start, self._seconds = time.monotonic(), seconds

    def starved(self) -> float:
        waited = time.monotonic() - self._start
        if waited > self._seconds > 0:
            self._inner.sendall(pack(frames.HELLO, b""))
        return min(waited, self._seconds)


@pytest.mark.parametrize(("seconds", "is_up"), [(0.5, True), (0.0, False)], ids=["starved", "not"])
def test_time_without_a_processor_is_not_counted(seconds: float, is_up: bool) -> None:
    machine = Machine.__new__(Machine)
    machine.kernel = SimpleNamespace(patience=lambda: 1)  # type: ignore[assignment]
    machine._decoder, machine._outgoing = Decoder(), bytearray()
    machine._interrupts, machine._unheard, machine._wake = 0, 0.0, -1
    emulator = Starved(seconds)
    assert machine._hello(emulator, time.monotonic() + 0.1) == is_up  # type: ignore[arg-type]


def test_how_long_a_thread_waited_for_a_processor(tmp_path: Path) -> None:
    (tmp_path / "schedstat").write_text("44697948829 608344079984 40203\n")
    assert qemu._run_delay(tmp_path) == pytest.approx(608.344)
    assert qemu._run_delay(tmp_path / "gone") == 0
    (tmp_path / "schedstat").write_text("0\n")
    assert qemu._run_delay(tmp_path) == 0


def test_an_initramfs_that_another_stapy_may_boot_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(initramfs, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(initramfs, "build", lambda *_: b"made")
    own = tree.GuestTree(Path("/"), Path("/bin/true"), "/usr/bin/python3")
    (tmp_path / "modules").mkdir()
    for name in ("modules/modules.dep", "image"):
        (tmp_path / name).write_bytes(b"")
    kernel = kernels.GuestKernel("6.1.0", tmp_path / "image", tmp_path / "modules", Config([]))
    (tmp_path / "vm").mkdir()
    for name, age in (("6.1.0-young", 3600), ("6.1.0-old", 100_000), ("6.12.0-old", 100_000)):
        path = tmp_path / "vm" / f"{name}.cpio"
        path.write_bytes(b"")
        os.utime(path, (time.time() - age,) * 2)
    mine = initramfs.ensure(kernel, own)
    assert mine.read_bytes() == b"made"
    names = {path.name for path in mine.parent.iterdir()}
    assert names == {mine.name, "6.1.0-young.cpio", "6.12.0-old.cpio"}
    os.utime(mine, (0, 0))
    assert initramfs.ensure(kernel, own) == mine and mine.stat().st_mtime > 0  # it is in use

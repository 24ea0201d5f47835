"""The processes behind a machine: QEMU and its two file servers, and that they all go.

Three nets catch them: `Processes.close`, the death signal that the kernel sends
when we are killed, and a shell that waits for our end of a pipe to close and
then removes the temporary folder.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from stapy import arch
from stapy.record import Record, new
from stapy.vm import clock
from stapy.vm.errors import VmError
from stapy.vm.initramfs import ensure
from stapy.vm.kernels import GuestKernel
from stapy.vm.tree import tree_of

PR_SET_PDEATHSIG = 1
PANIC_SECONDS = 30.0  # for a panic to be told, on a loaded machine; one on a quiet one
COMMAND_LINE = (
    "quiet panic=-1 oops=panic cryptomgr.notests "
    "panic_print=96 rcupdate.rcu_cpu_stall_timeout=20 "
    "mitigations=off audit=0 random.trust_cpu=on"
)


# The emulator keeps its translation of a page of code for the address where that page was seen
# last: a program that lies elsewhere each time is translated anew each time it starts.
EMULATED = "norandmaps"


class Shape(Record):
    """What a machine is made of."""

    cpus: int = 1
    memory: int = 1024  # MB
    extra: list[str] = new(list)
    command_line: str = ""  # appended to the kernel's


def qemu_program(architecture: arch.Architecture | None = None) -> str:
    """Find the emulator of an architecture, this machine's without one, or raise `VmError`.

    ``STAPY_QEMU`` names another one for this machine's.
    """
    wanted = architecture or arch.host()
    if wanted is None:
        raise VmError(f"no emulator is known for {arch.host_name()}")
    named = os.environ.get("STAPY_QEMU") if wanted is arch.host() else None
    found = named or shutil.which(wanted.machine.program)
    if not found:
        raise VmError(
            f"no {wanted.machine.program}", hint=f"apt-get install {wanted.machine.package}"
        )
    return found


def virtiofsd_program() -> str:
    """Find the file server, which distributions hide in three places, or raise `VmError`."""
    places = [
        os.environ.get("STAPY_VIRTIOFSD", ""),
        shutil.which("virtiofsd") or "",
        "/usr/libexec/virtiofsd",
        "/usr/lib/virtiofsd",
        "/usr/lib/qemu/virtiofsd",
    ]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise VmError(
        "no virtiofsd to share the file system with the guest",
        hint="apt-get install virtiofsd || apt-get install qemu-system-common",
    )


def virtiofsd_command(program: str, listener: int, folder: str, cache: str) -> list[str]:
    """Build the call of the older file server (in C, part of QEMU) or the newer (in Rust)."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout
    if "--shared-dir" in text:
        command = [program, f"--fd={listener}", f"--shared-dir={folder}"]
        return [*command, f"--cache={cache}", "--sandbox=chroot", "--log-level=error"]
    options = f"source={folder},cache={cache},sandbox=chroot,log_level=err"
    return [program, f"--fd={listener}", "-f", "-o", options]


def _is_accelerated(architecture: arch.Architecture) -> bool:
    return architecture is arch.host() and os.environ.get("STAPY_VM_ACCEL") == "kvm"


def acceleration(architecture: arch.Architecture) -> list[str]:
    """Choose how the CPU is made: emulated, unless ``STAPY_VM_ACCEL=kvm`` asks otherwise.

    Not by itself: there are hosts (virtual machines themselves) that offer
    /dev/kvm, under which a distribution's kernel then hangs at boot.
    """
    if _is_accelerated(architecture):
        return ["-accel", "kvm", "-cpu", "host"]
    # With a thread per CPU, QEMU 7.2 jumps to address 0 now and then when one
    # CPU patches a function's entry that another one runs; bare kprobes suffice.
    return ["-accel", "tcg,thread=single", "-cpu", architecture.machine.processor]


def _run_delay(task: Path) -> float:
    """Read the seconds a thread has waited for a processor: second word of ``schedstat``, ns."""
    try:
        return int((task / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def check(architecture: arch.Architecture | None = None) -> None:
    """Raise `VmError` when one of the programs, or the right to run them, is missing."""
    if os.geteuid() != 0:
        raise VmError(
            "the machine's file servers can only be started by root",
            hint="run the same command with sudo",
        )
    qemu_program(architecture)
    virtiofsd_program()


def _share(folder: Path, tag: str) -> list[str]:
    """Write the words that show a file server's folder to the guest."""
    return [
        *("-chardev", f"socket,id={tag},path={folder}/{tag}.socket"),
        *("-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"),
    ]


class Processes:
    """One boot: starts everything, owns the folder, the port and the monitor."""

    def __init__(self, kernel: GuestKernel, shape: Shape) -> None:
        check(kernel.architecture)
        qemu, server = qemu_program(kernel.architecture), virtiofsd_program()
        self._kernel = kernel
        self._tree = tree_of(kernel)
        initramfs = ensure(kernel, self._tree)
        self.folder = Path(tempfile.mkdtemp(prefix="stapy-vm-"))
        self.console = self.folder / "console"
        self.share = self.folder / "share"
        self._sockets: list[socket.socket] = []
        self._running: list[subprocess.Popen[bytes]] = []
        self._janitor = subprocess.Popen(
            ["/bin/sh", "-c", 'read line; rm -rf -- "$0"', str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._start = partial(self._launch, qemu, server, kernel, shape, initramfs)
        try:
            self.share.mkdir()
            self._start()
        except BaseException:
            self.close()
            raise

    def again(self) -> None:
        """Boot once more, with the same share: for a guest that died before anything ran in it."""
        self._end()
        for old in (self.console, *self.folder.glob("*.socket"), *self.folder.glob("*.log")):
            old.unlink(missing_ok=True)
        self._start()

    def _launch(
        self, qemu: str, server: str, kernel: GuestKernel, shape: Shape, initramfs: Path
    ) -> None:
        self.port, inner_port = socket.socketpair()
        self.monitor, inner_monitor = socket.socketpair()
        self._sockets = [self.port, self.monitor]
        try:
            # The guest may believe what it has read of the root: exec is four times as fast.
            self._serve(server, "root", str(self._tree.root), "always")
            self._serve(server, "share", str(self.share), "auto")
            if self._tree.is_foreign:
                self._serve(server, "modules", str(kernel.modules.resolve()), "always")
            fds = (inner_port.fileno(), inner_monitor.fileno())
            self.qemu = self._spawn(self._command(qemu, kernel, shape, initramfs, *fds), fds)
        finally:
            inner_port.close()
            inner_monitor.close()

    def _serve(self, program: str, tag: str, folder: str, cache: str) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / tag) + ".socket")
            listener.listen(1)
            number = listener.fileno()
            self._spawn(virtiofsd_command(program, number, folder, cache), (number,))

    def _spawn(self, command: list[str], fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
        log = self.folder / (Path(command[0]).name + ".log")
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=fds,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self._running.append(process)
        return process

    def _command(
        self, qemu: str, kernel: GuestKernel, shape: Shape, initramfs: Path, port: int, monitor: int
    ) -> list[str]:
        folder = self.folder
        machine = kernel.architecture.machine
        own = [f"console={machine.console}", *machine.options]
        if not _is_accelerated(kernel.architecture):
            own.append(EMULATED)
            own += [clock.parameter()] if kernel.architecture is arch.X86_64 else []
        line = " ".join(filter(None, (COMMAND_LINE, *own, shape.command_line)))
        shares = ["root", "share", *(["modules"] if self._tree.is_foreign else [])]
        return [
            qemu,
            *("-M", f"{machine.board},memory-backend=memory"),
            *acceleration(kernel.architecture),
            *("-smp", str(shape.cpus)),
            *("-m", str(shape.memory)),
            *("-object", f"memory-backend-memfd,id=memory,size={shape.memory}M,share=on"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-kernel", str(kernel.image), "-initrd", str(initramfs), "-append", line),
            *("-chardev", f"file,id=console,path={self.console}", "-serial", "chardev:console"),
            *("-chardev", f"socket,id=monitor,fd={monitor}"),
            *("-mon", "chardev=monitor,mode=readline"),
            *itertools.chain.from_iterable(_share(folder, name) for name in shares),
            *("-device", "virtio-serial-pci,max_ports=2"),
            *("-chardev", f"socket,id=port,fd={port}"),
            *("-device", "virtserialport,chardev=port,name=stapy,nr=1"),
            *shape.extra,
        ]

    def is_alive(self) -> bool:
        """Tell whether the emulator runs."""
        return self.qemu.poll() is None

    def starved(self) -> float:
        """Return the seconds that the emulator, wanting to run, waited for a processor.

        They are no time for what the guest is to do. 0 where the host's kernel does not count it.
        """
        return max(map(_run_delay, Path(f"/proc/{self.qemu.pid}/task").glob("*")), default=0.0)

    def nmi(self) -> None:
        """Send an NMI to the first processor."""
        self.monitor.sendall(b"nmi\n")

    def interrupt(self) -> None:
        """Send an NMI, at which the guest panics and prints what each CPU was doing."""
        if not self._kernel.architecture.machine.takes_nmi:
            return
        try:
            self.nmi()
            self.qemu.wait(PANIC_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass

    def console_text(self) -> str:
        """Read what the guest's kernel has printed on its console."""
        try:
            return self.console.read_bytes().decode("utf-8", "replace").replace("\r", "")
        except OSError:
            return ""

    def messages(self) -> str:
        """Read what the emulator and the file servers said, for an error message."""
        # The emulator's last: its end is the cause of what the servers say.
        logs = sorted(self.folder.glob("*.log"), key=lambda path: path.name.startswith("qemu"))
        texts = [path.read_text(errors="replace") for path in logs]
        return "".join(texts).strip()

    def close(self) -> None:
        """End every process and remove the folder; may be called twice."""
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._janitor.stdin and not self._janitor.stdin.closed:
            self._janitor.stdin.close()
            self._janitor.wait()

    def _end(self) -> None:
        for process in reversed(self._running):
            if process.poll() is None:
                process.kill()
            process.wait()
        self._running = []
        for end in self._sockets:
            end.close()

"""Guests of another architecture, as far as that is known without starting one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from stapy import arch
from stapy.kernel import offers, suites, userland
from stapy.kernel.config import Config
from stapy.kernel.suites import TRIED
from stapy.vm import initramfs, kernels, machine, qemu
from stapy.vm.errors import VmError
from stapy.vm.kernels import GuestKernel
from stapy.vm.tree import GuestTree, tree_of

ARM = "6.1.0-9-cloud-arm64"
AMD = "6.1.0-8-cloud-amd64"
FETCH = "stapy kernel fetch -a arm64 -s trixie,trixie-security,trixie-backports"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a cache with a kernel of each architecture on a machine that has none itself."""
    monkeypatch.setattr(arch, "host", lambda: arch.X86_64)
    monkeypatch.setattr(arch, "host_name", lambda: "x86_64")
    monkeypatch.setattr(userland, "cache_dir", lambda: tmp_path)
    root = tmp_path / "kernels"
    for release, option in ((ARM, "CONFIG_ARM64"), (AMD, "CONFIG_X86_64")):
        modules = root / "lib/modules" / release
        (modules / "build").mkdir(parents=True)
        (modules / "build/Makefile").touch()
        (modules / "modules.dep").touch()
        (root / "boot").mkdir(exist_ok=True)
        (root / f"boot/vmlinuz-{release}").touch()
        (root / f"boot/config-{release}").write_text(f"{option}=y\n")
    return root


def programs(cache: Path, python: str) -> Path:
    """Pretend that the programs of arm64 were fetched."""
    root = cache / "userland/arm64"
    (root / "usr/bin").mkdir(parents=True)
    (root / "bin").mkdir()
    for name in ("bin/busybox", f"usr/bin/{python}", "usr/bin/python3-config"):
        (root / name).write_bytes(b"program")
    return root


@pytest.mark.parametrize(
    ("wanted", "found"), [("", AMD), ("x86_64", AMD), ("arm64", ARM)], ids=["none", "own", "other"]
)
def test_a_line_is_one_of_an_architecture(tree: Path, wanted: str, found: str) -> None:
    """Also where another architecture has a later kernel of it."""
    assert kernels.find("6.1", str(tree), wanted).release == found
    assert kernels.default_release(str(tree), wanted) == found
    assert kernels.installed(tree, wanted) == [found]


def test_a_release_says_its_architecture(tree: Path) -> None:
    kernel = kernels.find(ARM, str(tree))
    assert kernel.architecture is arch.ARM64 and kernel.is_foreign()
    own = kernels.find(AMD, str(tree))
    assert own.architecture is arch.X86_64 and not own.is_foreign()
    # A kernel of nobody's package is what its configuration says.
    odd = GuestKernel("6.1-mine", tree, tree, Config([tree / f"boot/config-{ARM}"]))
    assert odd.architecture is arch.ARM64


@pytest.mark.parametrize(
    ("release", "wanted", "told", "hint"),
    [
        ("6.12", "arm64", f"no kernel 6.12 of arm64 .*{ARM}", f"{FETCH} 6.12-cloud"),
        ("6.12.9+deb13-arm64", "", "no kernel image", f"{FETCH} 6.12.9+deb13-arm64"),
        # No suite of Debian has this one any more.
        ("6.9", "arm64", f"no kernel 6.9 of arm64 .*{ARM}", TRIED),
        ("6.9.0-1-arm64", "", "no kernel image", TRIED),
        ("6.9.0-1-amd64", "", "no kernel image", "apt-get install linux-image-6.9.0-1-amd64"),
    ],
)
def test_how_to_get_what_is_missing(
    tree: Path, release: str, wanted: str, told: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in offers, suites:
        monkeypatch.setattr(module, "offered", lambda: None)
    monkeypatch.setattr(suites, "distribution", lambda: "debian")
    with pytest.raises(VmError, match=told) as error:
        kernels.find(release, str(tree), wanted)
    assert error.value.hint == hint


def test_no_programs_for_the_guest(tree: Path) -> None:
    with pytest.raises(VmError, match="no programs of arm64") as error:
        tree_of(kernels.find(ARM, str(tree)))
    assert error.value.hint == f"stapy kernel fetch -a arm64 {ARM}"


@pytest.mark.parametrize("is_ours", [True, False])
def test_what_the_guest_starts_with(tree: Path, is_ours: bool) -> None:
    """Bytecode when its Python understands ours, else sources; modules come by a server."""
    minor = sys.version_info.minor if is_ours else sys.version_info.minor + 1
    root = programs(tree.parent, f"python3.{minor}")
    kernel = kernels.find(ARM, str(tree))
    found = tree_of(kernel)
    assert found.root == root and found.interpreter == f"/usr/bin/python3.{minor}"
    assert found.is_ours is is_ours and found.is_foreign
    archive = initramfs.build(kernel, b"script", found)
    assert f"modules /lib/modules/{ARM}\n".encode() in archive
    name = b"stapy/vm/agent.pyc\0" if is_ours else b"stapy/vm/agent.py\0"
    assert name in archive
    assert (importlib.util.MAGIC_NUMBER in archive) is is_ours


def command(kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch, is_foreign: bool) -> str:
    """Return the command line of the emulator."""
    monkeypatch.delenv("STAPY_VM_ACCEL", raising=False)
    processes = qemu.Processes.__new__(qemu.Processes)
    processes.folder, processes.console = Path("/f"), Path("/f/console")
    processes._tree = GuestTree(Path("/"), Path("/b"), "/p", is_foreign=is_foreign)
    return " ".join(
        processes._command("QEMU", kernel, qemu.Shape(), Path("/initramfs"), port=3, monitor=4)
    )


def test_the_emulator_of_each(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = command(kernels.find(AMD, str(tree)), monkeypatch, is_foreign=False)
    assert "-M pc,memory-backend=memory -accel tcg,thread=single -cpu max,-la57,-erms " in own
    assert " console=ttyS0 " in own and "tsc=reliable" in own and "tag=modules" not in own
    other = command(kernels.find(ARM, str(tree)), monkeypatch, is_foreign=True)
    assert "-M virt,gic-version=3,memory-backend=memory " in other and "-cpu max,pauth" in other
    assert " console=ttyAMA0 " in other and "tsc" not in other and "unknown_nmi" not in other
    for tag in ("root", "share", "modules"):
        assert f"vhost-user-fs-pci,chardev={tag},tag={tag}" in other


def test_the_program_is_named_when_it_is_missing(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands for this machine's emulator does not stand for the other one."""
    monkeypatch.setenv("STAPY_QEMU", "/bin/true")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert qemu.qemu_program(arch.X86_64) == qemu.qemu_program() == "/bin/true"
    with pytest.raises(VmError, match="no qemu-system-aarch64") as error:
        qemu.qemu_program(arch.ARM64)
    assert error.value.hint == "apt-get install qemu-system-arm"


def test_what_commands_find_there(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the places of this machine's files."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/here")
    monkeypatch.setenv("TZ", "UTC")
    root = programs(tree.parent, "python3.11")
    guest = machine.Machine(ARM, sysroot=str(tree))
    found = guest._environment()
    assert found["TZ"] == "UTC" and "LD_LIBRARY_PATH" not in found and found["HOME"] == "/root"
    assert guest.consumer_command() == ["/usr/bin/python3.11", "-m", "stapy.run"]
    assert root.is_dir()
    own = machine.Machine(AMD, sysroot=str(tree))
    assert own._environment()["LD_LIBRARY_PATH"] == "/here"


def test_the_newest_python_of_a_tree(tmp_path: Path) -> None:
    assert userland.python_minor(tmp_path) == -1
    programs(tmp_path, "python3.9")
    (tmp_path / "userland/arm64/usr/bin/python3.13").touch()
    assert userland.python_minor(tmp_path / "userland/arm64") == 13


def test_a_tree_as_if_installed(tmp_path: Path) -> None:
    """Folders of old packages are where those of new ones are; nothing is lost on the way."""
    for name in ("bin/sh", "usr/bin/env", "lib/arch/libc.so.6", "usr/lib/arch/libz.so.1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "lib/ld.so").symlink_to("arch/libc.so.6")
    master = tmp_path / "usr/share/base-passwd/passwd.master"
    master.parent.mkdir(parents=True)
    master.write_text("root::0:0:root:/root:/bin/sh\n")
    for _ in range(2):  # packages of later releases are merged already
        userland.finish(tmp_path)
        assert [(tmp_path / name).readlink() for name in ("bin", "lib", "sbin")] == [
            Path("usr/bin"), Path("usr/lib"), Path("usr/sbin"),
        ]  # fmt: skip
        assert (tmp_path / "usr/bin/sh").read_text() == "bin/sh"
        assert (tmp_path / "bin/env").read_text() == "usr/bin/env"
        assert {path.name for path in (tmp_path / "lib/arch").iterdir()} == {
            "libc.so.6",
            "libz.so.1",
        }
        assert (tmp_path / "usr/lib/ld.so").read_text() == "lib/arch/libc.so.6"
        assert (tmp_path / "etc/passwd").read_text() == master.read_text()

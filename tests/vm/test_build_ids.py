"""Kernels and modules of another build than the script was made for are refused."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import pytest

from stapy.debuginfo.elf import ElfFile
from stapy.run.elf import ModuleFile
from stapy.translate.manifest import SECTION, encode
from stapy.vm import kernels
from stapy.vm.machine import Machine
from tests.vm.harness import build
from tests.vm.needs import need

from .test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
probe kernel.function("vfs_open").call? { vfs++ }
global vfs
probe module("msr").function("msr_open") { println("opened") }
probe end { println(vfs > 0 ? "vfs" : "no vfs") }
"""
MARK = b"~Module signature appended~\n"
USE = "insmod $msr && dd if=/dev/cpu/0/msr bs=8 count=0 2>/dev/null; rmmod msr"


@pytest.fixture(scope="module")
def probing(release: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    need(release, "CONFIG_X86_MSR")
    made = build(release, ["-m", "probing", "-e", SCRIPT], tmp_path_factory.mktemp("modules"))
    assert made.module, made.stderr
    return made.module


def msr(release: str, folder: Path, other: bool) -> tuple[Path, str]:
    """Copy the module msr, its build-id perhaps changed; return its path and build-id."""
    found = next(kernels.find(release).modules.rglob("msr.ko*"))
    data = found.read_bytes()
    data = lzma.decompress(data) if found.suffix == ".xz" else data
    known = ElfFile(data, "msr.ko").build_id()
    build_id = known[:-2] + "5a" if other else known
    path = folder / "msr.ko"
    if data.endswith(MARK):  # a wrong signature is worse than none
        end = len(data) - len(MARK)
        data = data[: end - 12 - int.from_bytes(data[end - 4 : end], "big")]
    path.write_bytes(data.replace(bytes.fromhex(known), bytes.fromhex(build_id)))
    return path, build_id


@pytest.mark.parametrize("other", [False, True])
def test_a_module_that_comes_later(
    guest: Machine, release: str, probing: Path, tmp_path: Path, other: bool
) -> None:
    path, build_id = msr(release, tmp_path, other)
    places = {"probing": probing, "msr": path}
    result = shell(guest, places, f"export msr; $run -c 'sh -c \"{USE}\"' $probing; echo status $?")
    said = result.stderr.decode()
    assert output(result)[-2:] == ["vfs", "status 0"], said
    assert ("opened" in output(result)) == (not other), said
    if other:
        expected = msr(release, tmp_path, False)[1]
        assert f"its build-id is {build_id}, the script was made for {expected}" in said
    else:
        assert "build-id" not in said


def test_another_module_that_is_loaded(
    guest: Machine, release: str, probing: Path, tmp_path: Path
) -> None:
    path, build_id = msr(release, tmp_path, True)
    text = "insmod $msr; $run -T 1 $probing; echo status $?; rmmod msr"
    result = shell(guest, {"probing": probing, "msr": path}, text)
    assert output(result) == ["status 1"]
    expected = msr(release, tmp_path, False)[1]
    assert f'"msr" expected {expected} actual {build_id}' in result.stderr.decode()


def test_another_kernel(guest: Machine, probing: Path, tmp_path: Path) -> None:
    manifest = ModuleFile(str(probing)).manifest()
    known = manifest["build_ids"]["kernel"]
    assert len(known) == 40
    manifest["build_ids"]["kernel"] = "12" * 20
    (tmp_path / "manifest").write_bytes(encode(manifest))
    path = tmp_path / "probing.ko"
    change = f"{SECTION}={tmp_path}/manifest"
    subprocess.run(["objcopy", "--update-section", change, str(probing), str(path)], check=True)
    result = shell(guest, {"probing": path}, "$run -T 1 $probing; echo status $?")
    assert output(result) == ["status 1"]
    assert f'"kernel" expected {"12" * 20} actual {known}' in result.stderr.decode()
    assert result.left_modules == []

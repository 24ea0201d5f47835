from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.arch import host_name
from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.kernel import find_kernel, suites, target


@pytest.fixture
def diagnostics() -> Diagnostics:
    return Diagnostics(SourceMap())


def make_tree(tree: Path, release: str = "6.1.5-mine") -> None:
    (tree / "include/config").mkdir(parents=True)
    (tree / "include/config/kernel.release").write_text(release + "\n")
    (tree / "include/linux").mkdir()
    (tree / "include/linux/module.h").write_text("")
    (tree / ".config").write_text(
        'CONFIG_ARM64=y\nCONFIG_CC_VERSION_TEXT="gcc-12 (Debian 12.2.0-14) 12.2.0"\n'
    )
    (tree / "arch/x86/boot").mkdir(parents=True)
    (tree / "arch/x86/boot/bzImage").write_bytes(b"")
    (tree / "vmlinux").write_bytes(b"")
    (tree / "Module.symvers").write_text("0x1\tf\tvmlinux\tEXPORT_SYMBOL\t\n")


def test_a_build_tree(tmp_path: Path, diagnostics: Diagnostics) -> None:
    make_tree(tmp_path)
    kernel = find_kernel(str(tmp_path), diagnostics)
    assert kernel.release == "6.1.5-mine"
    assert kernel.base_release == "6.1.5"
    assert kernel.version == (6, 1, 5)
    assert kernel.arch == "arm64"
    assert not kernel.is_running
    assert kernel.build_dir == tmp_path
    assert kernel.source_dir == tmp_path.resolve()
    assert kernel.image == tmp_path / "arch/x86/boot/bzImage"
    assert kernel.compiler == "gcc-12"
    assert "f" in kernel.exports
    assert diagnostics.items == []


def test_a_tree_of_another_machine_is_not_the_kernel_that_runs(
    tmp_path: Path, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where it is called the same: this machine's image and BTF tell nothing of it."""
    running = os.uname().release
    make_tree(tmp_path / "tree", running)
    (tmp_path / "tree/arch/x86/boot/bzImage").unlink()
    (tmp_path / f"vmlinuz-{running}").write_bytes(b"")
    monkeypatch.setattr(target, "_IMAGE_PLACES", (f"{tmp_path}/vmlinuz-{{r}}",))
    monkeypatch.setattr(target, "_MODULE_PLACES", (str(tmp_path),))
    tree = str(tmp_path / "tree")
    for machine, is_it, image in (
        ("x86_64", False, tmp_path / "tree/vmlinux"),
        ("aarch64", True, tmp_path / f"vmlinuz-{running}"),
    ):
        names = os.uname_result(("Linux", "host", running, "#1", machine))
        monkeypatch.setattr(os, "uname", lambda names=names: names)
        kernel = find_kernel(tree, diagnostics)
        assert kernel.is_running == is_it
        assert kernel.image == image
        assert (kernel.modules_dir is not None) == is_it


def test_split_headers(tmp_path: Path, diagnostics: Diagnostics) -> None:
    build, common = tmp_path / "build", tmp_path / "common"
    make_tree(build)
    (build / "include/linux/module.h").unlink()
    make_tree(common)
    (build / "Makefile").write_text(f"include {common}/Makefile\n")
    assert find_kernel(str(build), diagnostics).source_dir == common.resolve()


def test_the_header_with_the_release(tmp_path: Path, diagnostics: Diagnostics) -> None:
    (tmp_path / "include/generated").mkdir(parents=True)
    path = tmp_path / "include/generated/utsrelease.h"
    path.write_text('#define UTS_RELEASE "6.2.0-x"\n')
    assert find_kernel(str(tmp_path), diagnostics).release == "6.2.0-x"
    # As in Debian's headers: the kernel calls itself by the name in the header.
    (tmp_path / "include/config").mkdir()
    (tmp_path / "include/config/kernel.release").write_text("6.2.192\n")
    assert find_kernel(str(tmp_path), diagnostics).release == "6.2.0-x"


def test_a_folder_that_is_no_tree(tmp_path: Path, diagnostics: Diagnostics) -> None:
    with pytest.raises(Stop):
        find_kernel(str(tmp_path), diagnostics)
    assert [error.code for error in diagnostics.errors] == ["E0480"]


def test_an_unknown_release(diagnostics: Diagnostics) -> None:
    with pytest.raises(Stop):
        find_kernel("0.0.1-nowhere", diagnostics)
    (error,) = diagnostics.errors
    assert error.code == "E0481"
    assert "0.0.1-nowhere" in error.notes[0]


@pytest.mark.parametrize(
    ("known", "option", "code", "hint"),
    [
        (["6.1.0-9-arm64"], None, "E0483", "kernels for arm64 here: 6.1.0-9-arm64; -r names one"),
        (["6.1.0-9-amd64"], None, "E0483", "stapy kernel fetch -a arm64 6.1-cloud gets one"),
        (["6.12.1-amd64"], "6.12", "E0481", "stapy kernel fetch -a arm64 6.12-cloud"),
    ],
)
def test_kernels_for_an_architecture_that_are_not_here(
    diagnostics: Diagnostics,
    monkeypatch: pytest.MonkeyPatch,
    known: list[str],
    option: str | None,
    code: str,
    hint: str,
) -> None:
    """What is here for it is told, or what gets one; others' releases are no help."""
    names = os.uname_result(("Linux", "host", "6.9.0-host", "#1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: names)
    monkeypatch.setattr(target, "releases", lambda root: known)
    monkeypatch.setattr(suites, "offered", lambda: {"linux-headers-6.12.1-cloud-amd64"})
    monkeypatch.setattr(suites, "distribution", lambda: "debian")
    with pytest.raises(Stop):
        find_kernel(option, diagnostics, None, "arm64")
    (error,) = diagnostics.errors
    assert (error.code, error.hint) == (code, hint)
    assert "amd64" not in " ".join(error.notes)


def test_the_running_kernel_is_always_known(diagnostics: Diagnostics) -> None:
    kernel = find_kernel(None, diagnostics)
    assert kernel.is_running
    assert kernel.release == os.uname().release
    assert find_kernel(kernel.release, diagnostics).is_running


@pytest.mark.parametrize(
    ("machine", "arch"),
    [("x86_64", "x86_64"), ("aarch64", "arm64"), ("i686", "i386"), ("ppc64le", "powerpc")],
)
def test_architectures(monkeypatch: pytest.MonkeyPatch, machine: str, arch: str) -> None:
    names = os.uname_result(("Linux", "host", "6.1", "#1", machine))
    monkeypatch.setattr(os, "uname", lambda: names)
    assert host_name() == arch


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("gcc-12 (Debian 12.2.0-14) 12.2.0", "gcc-12"),
        ("gcc (GCC) 14.2.1 20250110 (Red Hat 14.2.1-7)", "gcc"),
        ("Debian clang version 16.0.6 (15~deb12u1)", "clang-16"),
        ("clang version 17.0.6", "clang-17"),
        ("Android (11368308, +pgo, +bolt) clang version 18.0.0 (https://llvm)", "clang-18"),
        ("", ""),
    ],
)
def test_the_compiler_of_a_version(version: str, name: str) -> None:
    assert target.compiler_of(version) == name


def test_a_kernel_that_is_called_like_a_line_is_no_line(
    tmp_path: Path, diagnostics: Diagnostics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running one, of which nothing else may be here, and one that another host has."""
    for place in ("_MODULE_PLACES", "_BUILD_PLACES", "_IMAGE_PLACES"):
        monkeypatch.setattr(target, place, (f"{tmp_path}/lib/modules/{{r}}/build",))
    make_tree(tmp_path / "lib/modules/6.1.0-9-rt-amd64/build")
    (tmp_path / "lib/modules/6.1.0-9-rt-amd64/build/Makefile").write_text("")
    monkeypatch.setattr(target, "releases", lambda root: ["6.1.0-9-rt-amd64"])
    running = os.uname()
    for name in ("6.1.0", "6.1-rt", "6.1-rt-amd64"):
        found = find_kernel(name, diagnostics, architecture="")
        assert found.release == "6.1.0-9-rt-amd64"
        with pytest.raises(Stop):
            find_kernel(name, diagnostics, is_of_host=True)
        likeness = os.uname_result((running[0], running[1], name, running[3], running[4]))
        with monkeypatch.context() as patch:
            patch.setattr(os, "uname", lambda likeness=likeness: likeness)
            assert find_kernel(None, diagnostics).release == name


@pytest.mark.parametrize("name", [f"6.1+deb{'1' * 5000}-amd64", f"6.1-rt+deb{'9' * 4990}"])
def test_numbers_without_end_are_no_kernel(name: str, diagnostics: Diagnostics) -> None:
    with pytest.raises(Stop):
        find_kernel(name, diagnostics)
    assert [item.code for item in diagnostics.items] == ["E0481"]

"""Kernels in another file tree than the machine's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.kernel import find_kernel
from stapy.kernel.roots import OWN, build_tree, inside, releases, roots
from stapy.run.ground.links import real

RELEASE = "6.1.0-9-other"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make what Debian's packages look like unpacked, with absolute links and names."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "root"
    modules, sources = root / "lib/modules" / RELEASE, root / "usr/src"
    for folder in (
        modules,
        root / "boot",
        sources / "headers/include/config",
        sources / "headers-common/include/linux",
        root / "usr/lib/kbuild/scripts",
    ):
        folder.mkdir(parents=True)
    (modules / "build").symlink_to("/usr/src/headers")
    (root / "boot" / f"vmlinuz-{RELEASE}").write_bytes(b"")
    (root / "boot" / f"config-{RELEASE}").write_text("CONFIG_RT=y\n")
    (sources / "headers/Makefile").write_text("include /usr/src/headers-common/Makefile\n")
    (sources / "headers/scripts").symlink_to("../../lib/kbuild/scripts")
    (sources / "headers/Module.symvers").write_text("0x1\tf\tvmlinux\tEXPORT_SYMBOL\t\n")
    (sources / "headers-common/Makefile").write_text("# the kernel's\n")
    (sources / "headers-common/scripts").symlink_to("/usr/lib/kbuild/scripts")
    (sources / "headers-common/include/linux/module.h").write_text("")
    (root / "usr/lib/kbuild/scripts/tool").write_text("")
    return root


def test_links_are_followed_inside(root: Path) -> None:
    sources = root / "usr/src"
    assert inside(root, f"/lib/modules/{RELEASE}/build/Makefile") == sources / "headers/Makefile"
    assert inside(root, "/usr/src/headers-common/scripts/tool").read_text() == ""
    assert inside(root, "/../../usr//./src") == sources
    assert inside(OWN, "/usr/src") == Path("/usr/src")
    (root / "loop").symlink_to("/loop")
    assert not inside(root, "/loop/x").exists()


def test_a_kernel_of_a_sysroot(root: Path) -> None:
    kernel = find_kernel(RELEASE, Diagnostics(SourceMap()), str(root))
    tree = kernel.build_dir
    assert tree and kernel.source_dir and kernel.root == root
    assert kernel.image == root / "boot" / f"vmlinuz-{RELEASE}"
    assert kernel.config["CONFIG_RT"] == "y"
    assert "f" in kernel.exports
    assert (tree / "Makefile").read_text() == f"include {kernel.source_dir}/Makefile\n"
    for folder in (tree, kernel.source_dir):
        assert (folder / "scripts/tool").is_file()
    assert build_tree(root, root / "usr/src/headers") == tree


def test_what_kbuild_writes_goes_into_the_tree_that_stands_for_another(root: Path) -> None:
    """From 7.2 on headers name the place where their package puts them."""
    makefile = root / "usr/src/headers/Makefile"
    makefile.write_text("KBUILD_OUTPUT=/usr/src/headers\n" + makefile.read_text())
    tree = find_kernel(RELEASE, Diagnostics(SourceMap()), str(root)).build_dir
    assert tree is not None
    assert (tree / "Makefile").read_text().splitlines()[0] == f"KBUILD_OUTPUT={tree}"


def test_unpacked_into_the_cache(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache/stapy/kernels"
    place.parent.mkdir(parents=True, exist_ok=True)
    root.rename(place)
    assert roots(None) == [OWN, place]
    assert releases(place) == [RELEASE]
    assert find_kernel(RELEASE, Diagnostics(SourceMap())).root == place


def test_a_tree_without_absolute_names_is_used_itself(root: Path, tmp_path: Path) -> None:
    tree = root / "usr/src/kernel"
    tree.mkdir()
    (tree / "Makefile").write_text("# whole\n")
    assert build_tree(root, tree) == tree
    (tree / "certs").symlink_to("../headers")
    assert build_tree(root, tree) == tree


def test_a_sysroot_hides_what_is_installed(root: Path) -> None:
    diagnostics = Diagnostics(SourceMap())
    with pytest.raises(Stop):
        find_kernel(None, diagnostics, str(root))
    (error,) = diagnostics.errors
    assert error.code == "E0481"
    assert error.notes[1] == f"there are: {RELEASE}"


def test_releases_of_a_tree(tmp_path: Path) -> None:
    assert releases(tmp_path) == []
    for name in ("6.1", "5.9"):
        (tmp_path / "lib/modules" / name).mkdir(parents=True)
    (tmp_path / "lib/modules/file").write_text("")
    assert releases(tmp_path) == ["5.9", "6.1"]


def test_links_without_end_lead_nowhere(tmp_path: Path) -> None:
    """The last one that is followed must not be left to the kernel, which begins at our root."""
    (tmp_path / "0").symlink_to("/etc/hostname")
    for number in range(1, 41):
        (tmp_path / str(number)).symlink_to(f"/{number - 1}")
    assert inside(tmp_path, "/39") == tmp_path / "etc/hostname"
    assert not inside(tmp_path, "/40").exists()
    assert real(str(tmp_path), "/39") == f"{tmp_path}/etc/hostname"
    assert not Path(real(str(tmp_path), "/40")).exists()

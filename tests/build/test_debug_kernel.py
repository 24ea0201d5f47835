"""``.ci/debug-kernel``: what it makes of words, of a build that ends early, of one that is whole.

The compiler, make and the sources are small fakes: what is looked at is what the script leaves.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci/debug-kernel"
RELEASE = "6.1.1-watching"

PROGRAMS = {
    # The numbers of the build are in what it makes, so that a mix of two would be seen.
    "make": f"""
echo "$@" >>"$LOG"
case $1 in
tinyconfig) echo tiny >.config ;;
-j*)
	mkdir -p include/config arch/x86/boot
	echo half >vmlinux
	while [ -e "$HOLD" ]; do echo >"$HOLD.reached"; sleep 0.05; done
	[ ! -e "$BROKEN" ] || exit 2
	echo "${{NAMED:-{RELEASE}}}" >include/config/kernel.release
	for file in vmlinux System.map arch/x86/boot/bzImage; do echo "$BUILD" >$file; done ;;
modules_install)
	folder=${{2#INSTALL_MOD_PATH=}}/lib/modules/$(cat include/config/kernel.release)
	mkdir -p "$folder"
	ln -s "$PWD" "$folder/build"
	echo "$BUILD" >"$folder/x.ko" ;;
esac
""",
    "find": 'echo "$SOURCES"\n',
    "pahole": "true\n",
    "gcc": 'echo "gcc ${COMPILER:-12}"\n',
    "clang-16": 'echo "clang 16"\n',
    "ld.lld-16": 'echo "LLD ${LINKER:-16.0.6}"\n',
    "llvm-ar-16": 'echo "LLVM 16"\n',
    # Moves as it does, but not what $STUCK names to its new place.
    "mv": """
case "$1 $2" in
*/new/*"$STUCK "*) [ -z "$STUCK" ] || exit 1 ;;
esac
exec /bin/mv "$@"
""",
}


class Place:
    """A folder for the cache, with the programs that the script calls."""

    def __init__(self, folder: Path) -> None:
        programs = folder / "bin"
        programs.mkdir()
        for name, text in PROGRAMS.items():
            (programs / name).write_text(f"#!/bin/bash\n{text}")
            (programs / name).chmod(0o755)
        merge = folder / "linux/scripts/kconfig/merge_config.sh"
        merge.parent.mkdir(parents=True)
        merge.write_text('#!/bin/sh\nshift\nmerged=$1\nshift\ncat "$@" >>"$merged"\n')
        merge.chmod(0o755)
        self.sources = folder / "linux-source-6.1.tar.xz"
        with tarfile.open(self.sources, "w:xz") as archive:
            archive.add(folder / "linux", "linux")
        self.log = folder / "log"
        self.hold, self.broken = folder / "hold", folder / "broken"
        self.kernels = folder / "cache/stapy/kernels"
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "SOURCES": str(self.sources),
            "LOG": str(self.log),
            "HOLD": str(self.hold),
            "BROKEN": str(self.broken),
            "STUCK": "",
        }

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [SCRIPT, *words],
            env={**self.environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **more: str) -> tuple[int, str, str]:
        done = self.start(*words, **more)
        stdout, stderr = done.communicate(timeout=60)
        return done.returncode, stdout, stderr

    def contents(self) -> dict[str, str]:
        """Return all files and links of the cache with what is in them."""
        base = self.kernels.parent
        return {
            str(path.relative_to(base)): str(path.readlink())
            if path.is_symlink()
            else path.read_text()
            for path in sorted(base.rglob("*"))
            if (path.is_symlink() or path.is_file()) and path.suffix != ".lock"
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_builds_nothing(place: Place, word: str) -> None:
    status, stdout, _ = place.run(word)
    assert status == 0
    assert "Usage: .ci/debug-kernel" in stdout
    assert not place.log.exists()
    assert not place.kernels.exists()


@pytest.mark.parametrize("words", [["--halp"], ["6.12"], ["--help", "6.1"]])
def test_words_it_does_not_know_build_nothing(place: Place, words: list[str]) -> None:
    status, stdout, stderr = place.run(*words)
    assert (status, stdout) == (2, "")
    assert f"knows no '{' '.join(words)}'" in stderr
    assert not place.log.exists()
    assert not place.kernels.exists()


def test_a_whole_build(place: Place) -> None:
    status, stdout, stderr = place.run(BUILD="1")
    assert (status, stdout) == (0, f"{RELEASE}\n"), stderr
    found = place.contents()
    assert found[f"kernels/boot/vmlinuz-{RELEASE}"] == "1\n"
    assert found[f"kernels/boot/System.map-{RELEASE}"] == "1\n"
    assert "CONFIG_KASAN=y" in found[f"kernels/boot/config-{RELEASE}"]
    assert found[f"kernels/lib/modules/{RELEASE}/build"] == "/usr/src/linux-debug"
    assert found[f"kernels/lib/modules/{RELEASE}/x.ko"] == "1\n"
    assert found["kernels/usr/src/linux-debug/vmlinux"] == "1\n"
    assert all(name.startswith("kernels/") for name in found)


def test_the_kinds_are_beside_each_other(place: Place) -> None:
    """Each has options, a tree and a release of its own, and stays when the other one is made."""
    place.run("kasan", BUILD="1")
    first = place.contents()
    status, stdout, stderr = place.run("kcsan", BUILD="2", NAMED="6.1.1-racing")
    assert (status, stdout) == (0, "6.1.1-racing\n"), stderr
    assert "not possible" not in stderr
    found = place.contents()
    assert {name: text for name, text in found.items() if name in first} == first
    last = dict(
        line.split("=", 1)
        for line in found["kernels/boot/config-6.1.1-racing"].splitlines()
        if "=" in line and not line.startswith("#")
    )
    assert (last["CONFIG_KASAN"], last["CONFIG_KCSAN"]) == ("n", "y")
    assert last["CONFIG_LOCALVERSION"] == '"-racing"'
    assert found["kernels/lib/modules/6.1.1-racing/build"] == "/usr/src/linux-debug-kcsan"
    before = place.log.read_text()
    assert place.run("kasan", BUILD="3")[1] == place.run(BUILD="3")[1] == f"{RELEASE}\n"
    assert place.run("kcsan", BUILD="3")[1] == "6.1.1-racing\n"
    assert place.log.read_text() == before


def test_a_kind_that_clang_builds(place: Place) -> None:
    status, stdout, stderr = place.run("clang", BUILD="1", NAMED="6.1.1-clang")
    assert (status, stdout) == (0, "6.1.1-clang\n"), stderr
    calls = [line for line in place.log.read_text().splitlines() if line]
    assert len(calls) == 4 and all("LLVM=-16" in line.split() for line in calls)
    found = place.contents()
    assert "CONFIG_CFI_CLANG=y" in found["kernels/boot/config-6.1.1-clang"]
    before = place.log.read_text()
    assert place.run("clang", BUILD="2", NAMED="6.1.1-clang")[0] == 0
    assert place.log.read_text() == before
    assert place.run("clang", BUILD="2", NAMED="6.1.1-clang", LINKER="16.0.7")[0] == 0
    assert place.log.read_text() != before
    assert found["kernels/lib/modules/6.1.1-clang/build"] == "/usr/src/linux-debug-clang"


@pytest.mark.parametrize("missing", ["clang-16", "ld.lld-16", "llvm-ar-16"])
def test_a_program_that_is_missing_is_named(place: Place, missing: str) -> None:
    """Before anything is unpacked."""
    programs = Path(place.environment["PATH"].partition(":")[0])
    (programs / missing).unlink()
    for name in ("bash", "sed", "find", "sha256sum", "cat", "readlink", "head", "env"):
        found = shutil.which(name)
        if found and not (programs / name).exists():
            (programs / name).symlink_to(found)
    status, stdout, stderr = place.run("clang", PATH=str(programs))
    assert (status, stdout) == (1, "")
    assert "apt-get install linux-source-6.1" in stderr and "clang-16 lld-16 llvm-16" in stderr
    assert not place.kernels.exists()


def test_what_is_there_is_not_built_again(place: Place) -> None:
    place.run(BUILD="1")
    before = place.log.read_text()
    assert place.run(BUILD="2")[:2] == (0, f"{RELEASE}\n")
    assert place.log.read_text() == before
    assert place.run(BUILD="2", COMPILER="13")[:2] == (0, f"{RELEASE}\n")
    assert place.contents()["kernels/usr/src/linux-debug/vmlinux"] == "2\n"
    assert place.contents()[f"kernels/lib/modules/{RELEASE}/x.ko"] == "2\n"


def test_new_sources_are_unpacked_and_the_old_kernel_goes(place: Place) -> None:
    place.run(BUILD="1")
    (place.kernels / "usr/src/linux-debug/of-old-sources").write_text("")
    place.sources.write_bytes(place.sources.read_bytes() + bytes(4))  # padding, as xz may have
    status, stdout, stderr = place.run(BUILD="2", NAMED="6.1.2-watching")
    assert (status, stdout) == (0, "6.1.2-watching\n"), stderr
    found = place.contents()
    assert not [name for name in found if RELEASE in name or "of-old-sources" in name]
    assert found["kernels/boot/vmlinuz-6.1.2-watching"] == "2\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("has_old", [False, True])
def test_an_interrupted_build_leaves_nothing(
    place: Place, number: signal.Signals, has_old: bool
) -> None:
    if has_old:
        place.run(BUILD="1")
    before = place.contents() if has_old else {}
    assert _interrupted(place, number) == (130 if number == signal.SIGINT else 143)
    assert place.contents() == before


def test_a_killed_build_spoils_neither_the_old_nor_the_next(place: Place) -> None:
    place.run(BUILD="1")
    before = place.contents()
    assert _interrupted(place, signal.SIGKILL) == -signal.SIGKILL
    assert {name: text for name, text in place.contents().items() if name in before} == before
    assert place.run(BUILD="3", COMPILER="13")[0] == 0
    found = place.contents()
    assert found["kernels/usr/src/linux-debug/vmlinux"] == "3\n"
    assert set(found) == set(before)


def test_a_failed_build_leaves_nothing(place: Place) -> None:
    place.run(BUILD="1")
    before = place.contents()
    place.broken.write_text("")
    status, stdout, _ = place.run(BUILD="2", COMPILER="13")
    assert status != 0
    assert stdout == ""
    assert place.contents() == before


@pytest.mark.parametrize("stuck", [f"modules/{RELEASE}", f"boot/config-{RELEASE}", "linux-debug"])
@pytest.mark.parametrize("has_old", [False, True])
def test_what_cannot_change_places_leaves_what_was_there(
    place: Place, stuck: str, has_old: bool
) -> None:
    """As where the disk is full."""
    if has_old:
        place.run(BUILD="1")
    before = place.contents() if has_old else {}
    status, stdout, _ = place.run(BUILD="2", COMPILER="13", STUCK=stuck)
    assert status != 0
    assert stdout == ""
    assert place.contents() == before
    assert place.run(BUILD="3", COMPILER="13")[:2] == (0, f"{RELEASE}\n")
    assert place.contents()["kernels/usr/src/linux-debug/vmlinux"] == "3\n"


@pytest.mark.parametrize("part", ["boot/vmlinuz-", "lib/modules/"])
def test_what_is_there_in_part_is_built_again(place: Place, part: str) -> None:
    place.run(BUILD="1")
    whole = place.contents()
    (place.kernels / f"{part}{RELEASE}").rename(place.kernels.parent / "elsewhere")
    assert place.run(BUILD="1")[:2] == (0, f"{RELEASE}\n")
    assert {name: text for name, text in place.contents().items() if name in whole} == whole


def test_a_cache_by_a_relative_path(place: Place, tmp_path: Path) -> None:
    place.environment["XDG_CACHE_HOME"] = os.path.relpath(tmp_path / "cache")
    assert place.run(BUILD="1")[:2] == (0, f"{RELEASE}\n")
    assert place.contents()[f"kernels/boot/vmlinuz-{RELEASE}"] == "1\n"


def _interrupted(place: Place, number: signal.Signals) -> int:
    """Send a signal to a build while its compilers are at work; return its status."""
    place.hold.write_text("")
    reached = place.hold.with_name("hold.reached")
    going = place.start(BUILD="2", COMPILER="13")
    try:
        for _ in range(600):
            if reached.exists():
                break
            time.sleep(0.05)
        assert reached.exists()
        going.send_signal(number)
        status = going.wait(timeout=30)
    finally:  # where the script was killed make goes on, and who builds next waits for its end
        place.hold.unlink()
        going.communicate(timeout=30)
    return status

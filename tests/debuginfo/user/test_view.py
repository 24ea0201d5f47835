"""Names of programs as a process in another mount namespace has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stapy.arch import host_name
from stapy.cache import Cache
from stapy.debuginfo import view
from stapy.debuginfo.dwarf.files.paths import existing
from stapy.debuginfo.user import libraries, linker_cache, search
from stapy.debuginfo.user.programs import Programs
from stapy.kernel import userland
from stapy.options import Options
from stapy.run import beforehand, inside
from stapy.run.ground import links
from stapy.session import checks
from tests.debuginfo.user.sources import LIBRARY, compiled
from tests.elaborate.support import run
from tests.probes.test_begin_end import rows

TEXT = "int outside(int); int main(void) { return outside(1); }"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a file tree that is looked into, with links that mean something else here."""
    top = tmp_path / "root"
    for name in ("usr/bin", "usr/lib/tools", "lib64"):
        (top / name).mkdir(parents=True)
    (top / "bin").symlink_to("/usr/bin")
    made = compiled(tmp_path, LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libhere.so", name="lib")
    made.rename(top / "lib64/libhere.so")
    words = [str(top / "lib64/libhere.so")]
    compiled(tmp_path, TEXT, *words, name="tool").rename(top / "usr/lib/tools/tool")
    (top / "usr/bin/tool").symlink_to("/usr/lib/tools/tool")
    (top / "usr/bin/script").write_text("#!/bin/tool\n")
    (top / "usr/bin/script").chmod(0o755)
    monkeypatch.setattr(view, "_root", str(top))
    monkeypatch.setenv("PATH", "/nowhere:/bin")
    return top


def test_links_lead_there(root: Path) -> None:
    tool = f"{root}/usr/lib/tools/tool"
    for name in ("tool", "/bin/tool", "/bin/../bin/./tool", tool):
        assert search.program(name) == tool
    assert search.interpreter(f"{root}/usr/bin/script") == tool
    assert search.programs("/bin/t*") == [tool]
    assert search.programs("t*l") == [tool]
    assert search.commands() == ["script", "tool"]
    assert view.shown(tool) == "/usr/lib/tools/tool" and view.shown("/bin/sh") == "/bin/sh"
    assert search.library("libhere.so") == f"{root}/lib64/libhere.so"
    assert f"{root}/lib64" in linker_cache.library_folders()
    for command in ("sh -c true", "/bin/sh -c true"):  # that of -c is ours, by our $PATH
        assert search.of_command(command) == os.path.realpath("/bin/sh")
    assert search.of_command("tool") is None


def test_links_behind_a_wildcard_lead_there(root: Path) -> None:
    """A folder that is an absolute link there is none here, or another one."""
    tool = f"{root}/usr/lib/tools/tool"
    (root / "opt/v1").mkdir(parents=True)
    (root / "opt/current").symlink_to("/usr/lib")
    (root / "opt/v1/tools").symlink_to("/usr/lib/tools")
    (root / "opt/v1/up").symlink_to("../../../../../../../..")
    (root / "opt/v1/loop").symlink_to("loop")
    (root / "usr/bin/tool2").symlink_to("/bin/tool")
    for pattern in (
        *("/opt/*/tools/tool", "/opt/cur*/to*/t*", "/o*/v?/tools/*", "/usr/bin/tool?"),
        *("/b*/tool", "/opt/v1/*/usr/bin/tool", "/usr/**/tool", "/**/tools/t*", "b[i]n/tool"),
    ):
        assert search.programs(pattern) == [tool], pattern
    assert search.programs("/opt/*/nothing") == search.programs("/opt/v1/loop/*") == []
    assert search.programs("/opt/v1/up/etc/host*") == []
    assert sorted(view.matching("/usr/**")) == sorted(
        f"{root}/usr{name}"
        for name in (
            *("", "/bin", "/lib", "/lib/tools", "/lib/tools/tool"),
            *("/bin/script", "/bin/tool", "/bin/tool2"),
        )
    )


def test_places_of_a_program_there(root: Path) -> None:
    """The consumer is told where to find them from outside, the user what they are there."""
    head = 'process("tool").library("libhere.so")'
    (row,) = rows(f'probe {head}.function("outside") {{ println(1) }}', "uprobe")
    assert row["file"] == f"{root}/lib64/libhere.so"
    assert row["program"] == f"{root}/usr/lib/tools/tool"
    shown = 'process("/usr/lib/tools/tool").library("/lib64/libhere.so").function("outside")'
    assert row["point"].startswith(shown)
    (row,) = rows('probe process("script").begin { println(1) }', "process")
    assert row["point"] == 'process("/usr/lib/tools/tool").begin'
    assert row["file"] == f"{root}/usr/lib/tools/tool"


def test_places_of_a_guests_program(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found in the tree that will be its root, and called there as it calls them."""
    monkeypatch.setattr(view, "_is_tree", True)
    tool, library = "/usr/lib/tools/tool", "/lib64/libhere.so"
    head = 'process("tool").library("libhere.so")'
    (row,) = rows(f'probe {head}.function("outside") {{ println(1) }}', "uprobe")
    assert (row["file"], row["program"]) == (library, tool)
    for words in ('process("script").begin', "process.begin"):
        found = rows(f"probe {words} {{ println(1) }}", "process")
        assert [row["file"] for row in found] == [tool if "script" in words else None]
    result = run(f'probe {head}.function("outside"), process("tool").end {{ println(1) }}')
    assert result.program is not None
    files = [site.user_files for probe in result.program.probes for site in probe.sites]
    assert [sorted(row) for row in files] == [[library, tool], [tool]]
    # The command is one of the guest as well, by its path or by ours.
    for command in ("tool -x", "/bin/tool"):
        (row,) = rows('probe process.function("main") { println(1) }', "uprobe", command=command)
        assert row["file"] == tool
    (item,) = run('probe process("sh").begin { println(1) }').diagnostics.items
    assert item.notes == [
        f"no folder of $PATH has a program of this name among the programs of guests, in {root}"
    ]


def test_whose_names_are_meant(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A guest of this machine's architecture has this machine's files."""
    monkeypatch.setattr(userland, "root_of", lambda debian: root)
    own = host_name()
    cases = [("arm64", True, str(root)), ("arm64", False, ""), (own, True, ""), ("s390", True, "")]
    for arch, vm, found in cases:
        view.look_in(None)
        session = SimpleNamespace(options=Options(vm=vm))
        checks.look_in_guests(cast("Any", session), cast("Any", SimpleNamespace(arch=arch)))
        assert (view.root(), view.is_tree(), session.options.tree) == (found, bool(found), found)
    view.look_in(None)


@pytest.mark.parametrize(
    ("point", "near"),
    [
        ('process("toll").begin', "'tool'"),
        ('process("/usr/lib/tools/toll").function("main")', "'/usr/lib/tools/tool'"),
        ('process("tool").library("libher.so").function("outside")', "'libhere.so'"),
    ],
)
def test_the_nearest_names_are_those_there(root: Path, point: str, near: str) -> None:
    (item,) = run(f"probe {point} {{ println(1) }}").diagnostics.items
    assert item.hint == f"did you mean {near}?"


def test_who_can_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert beforehand.closed_to_us(os.getpid()) == ""
    assert beforehand.closed_to_us(4194304) == "No such process"

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    assert beforehand.closed_to_us(1) == "it belongs to somebody else"


def test_another_process_than_at_translation(root: Path) -> None:
    """-N: the same path there, by its own links."""
    manifest = {"namespaces": 77}
    pid = os.getpid()
    assert inside.process_of({}, 0) == 0
    assert inside.process_of(manifest, 0) == 77 and inside.process_of(manifest, 5) == 5
    found = inside.place("/proc/77/root/bin/sh", manifest, pid)
    assert found == f"/proc/{pid}/root" + os.path.realpath("/bin/sh")
    assert inside.place("/usr/bin/sh", manifest, pid) == "/usr/bin/sh"
    assert links.real(str(root), "/bin/tool") == f"{root}/usr/lib/tools/tool"
    resolve = inside.resolver(f"/proc/{pid}/root/usr/bin/x")
    assert (
        inside.shown("/proc/12/root/bin/sh") == "/bin/sh" and inside.shown("/bin/sh") == "/bin/sh"
    )
    assert resolve("/bin/sh") == f"/proc/{pid}/root" + os.path.realpath("/bin/sh")


def test_libraries_of_our_own_programs_are_ours(root: Path, tmp_path: Path) -> None:
    """The program of -c, say."""
    known = Programs(Cache(tmp_path / "cache"), pytest.fail)
    found = libraries.matching(known, known.open(os.path.realpath("/bin/sh")), "libc.so*")
    assert found == [os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")]


def test_what_is_there_is_told_by_its_own_links(root: Path) -> None:
    """A folder that became a link of there meanwhile leads to nothing of ours."""
    if os.geteuid():
        pytest.skip("only root can give a process another root")
    (root / "opt").symlink_to("/etc")  # which the kernel would follow to ours
    (root / "tools").symlink_to("/usr/lib/tools")
    words = [sys.executable, "-c", CHROOT, str(root)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        there = f"/proc/{process.pid}/root"
        assert Path(there, "opt/hostname").exists() and not Path(there, "tools/tool").exists()
        for path, expected in (("opt/hostname", False), ("tools/tool", True), ("nothing", False)):
            assert view.exists(f"{there}/{path}") == expected
            assert view.is_file(f"{there}/{path}") == expected
            assert view.is_command(f"{there}/{path}") == expected
        assert view.names_in(f"{there}/tools") == ["tool"]
        with pytest.raises(FileNotFoundError):
            view.names_in(f"{there}/opt")
        assert existing([Path(there, "opt/hostname"), Path(there, "tools/tool")]) == [
            Path(there, "tools/tool")
        ]
        assert inside.told(f"{there}/x") == f"'/x' of process {process.pid}'s name space"
        assert inside.told("/x") == "'/x'"
        process.communicate(b"\n")


CHROOT = "import os, sys; os.chroot(sys.argv[1]); print('ready', flush=True); input()"

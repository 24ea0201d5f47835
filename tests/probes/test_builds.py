"""``debuginfod.process("PATH")``: builds that servers know, of which this machine has some."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf.files import metadata
from stapy.debuginfo.user import questions
from stapy.debuginfo.user.file import UserFile
from tests.debuginfo.server import Server
from tests.debuginfo.user.sources import LIBRARY, PROGRAM, built, compiled, has_mapped
from tests.debuginfo.user.sources import run as command
from tests.debugpackage import CACHE
from tests.elaborate.support import Result, run
from tests.probes.test_begin_end import rows

pytestmark = pytest.mark.slow

PATH = "/opt/bin/program"
ABSENT = ["ab" * 20, "cd" * 20]
SDT = """
#include <sys/sdt.h>
int main(void) { DTRACE_PROBE1(shop, sold, 1); return 0; }
"""


def row(build_id: str, archive: str = "", kind: str = "executable") -> dict[str, Any]:
    found = {"type": kind, "buildid": build_id, "file": PATH}
    return {**found, "archive": archive} if archive else found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a program twice, the second with more, and a library that the first one needs."""
    folder = tmp_path_factory.mktemp("builds")
    (folder / "lib.c").write_text(LIBRARY)
    words = ("-shared", "-fPIC", "-O1", str(folder / "lib.c"), "-Wl,-soname,libthing.so.1")
    built(folder / "libthing.so.1", *words)
    linked = ("-Wl,--no-as-needed", str(folder / "libthing.so.1"), "-Wl,-rpath,$ORIGIN")
    compiled(folder, PROGRAM, "-O1", *linked, name="old")
    compiled(folder, PROGRAM + "int later(int n) { return n; }", "-O1", name="new")
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the build-ids of the two, which are found as commands."""
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", "/nowhere")
    return {name: UserFile.open(folder / name).build_id for name in ("old", "new")}


def probe(words: str, path: str = PATH, front: str = "debuginfod") -> Result:
    return run(f'probe {front}.process("{path}").{words} {{ println(1) }}')


def told(result: Result) -> str:
    """Return all that was said, without places."""
    items = result.diagnostics.items
    return "\n".join(text for row in items for text in [row.message, *row.notes, row.hint, ""])


def points(result: Result) -> list[str]:
    assert result.program is not None, result.shown()
    return [point for probe in result.program.probes for point in probe.points]


def test_every_build_of_this_machine(server: Server, here: dict[str, str], folder: Path) -> None:
    """What one build lacks is probed in the other; each path is asked for once."""
    known = [row(build_id) for build_id in [*here.values(), *here.values()]]
    server.know(PATH, *known, row("ef" * 20, kind="debuginfo"))
    result = probe('function("work"), ' + f'debuginfod.process("{PATH}").function("later")')
    new, old = (f'process("{folder}/{name}").function' for name in ("new", "old"))
    assert points(result) == [f'{new}("work")', f'{old}("work")', f'{new}("later")']
    assert result.codes == [] and len(server.asked) == 1
    assert probe('function("nobody")').codes == ["E0231"]


@pytest.mark.parametrize(
    ("words", "point"),
    [
        ("begin", ".begin"),
        ("thread.end", ".thread.end"),
        ("syscall.return", ".syscall.return"),
        ('function("work").return', '.function("work").return'),
        ('library("libthing*").function("outside")', '.function("outside")'),
        ('plt("outside")', '.plt("outside")'),
        ("**", ".begin"),
    ],
)
def test_all_that_processes_have(
    server: Server, here: dict[str, str], folder: Path, words: str, point: str
) -> None:
    if "outside" in words:
        text = "int outside(int); int main(int n, char **v) { return outside(n); }"
        needed = ("-fPIC", str(folder / "libthing.so.1"), "-Wl,-rpath,$ORIGIN")
        compiled(folder, text, "-O1", *needed, name="caller")
        server.know(PATH, row(UserFile.open(folder / "caller").build_id))
    else:
        server.know(PATH, row(here["old"]))
    found = points(probe(words))
    assert found and all(text.startswith(f'process("{folder}/') for text in found)
    assert any(text.endswith(point) for text in found)


def test_marks(server: Server, here: dict[str, str], folder: Path) -> None:
    include = Path(__file__).parents[2] / "include"
    program = compiled(folder, SDT, f"-I{include}", name="marked")
    server.know(PATH, row(UserFile.open(program).build_id))
    assert points(probe('mark("sold")')) == [f'process("{program}").mark("sold")']
    (found,) = rows(f'probe debuginfod.process("{PATH}").mark("sold") {{ println($arg1) }}', "usdt")
    assert found["file"] == str(program)


def test_patterns_are_the_servers(server: Server, here: dict[str, str], folder: Path) -> None:
    server.know("/opt/*/prog*", row(here["old"]), key="glob")
    assert points(probe('function("work")', "/opt/*/prog*")) == [
        f'process("{folder}/old").function("work")'
    ]


@pytest.mark.parametrize(
    ("archive", "names"),
    [
        ("shop_1*", ["old"]),
        ("/pool/*/shop_2.deb", ["new"]),
        ("*", ["new", "old"]),
    ],
)
def test_archives(
    server: Server, here: dict[str, str], folder: Path, archive: str, names: list[str]
) -> None:
    old, new = row(here["old"], "/pool/a/shop_1.deb"), row(here["new"], "/pool/b/shop_2.deb")
    server.know(PATH, old, new, row(ABSENT[0]))
    result = probe('function("work")', front=f'debuginfod.archive("{archive}")')
    expected = [f'process("{folder}/{name}").function("work")' for name in names]
    assert points(result) == expected and result.codes == []


def test_names_that_are_not_of_letters(
    server: Server, here: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are opened by their own names, whatever these would mean in a script."""
    odd = folder / 'wörter "und" [Klammern]'
    odd.mkdir(exist_ok=True)
    shutil.copy(folder / "old", odd / "old")
    monkeypatch.setenv("PATH", str(odd))
    server.know(PATH, row(here["old"]))
    (found,) = rows(f'probe debuginfod.process("{PATH}").begin {{ println(1) }}', "process")
    assert found["file"] == str(odd / "old")


def test_what_is_left_out_is_told(server: Server, here: dict[str, str]) -> None:
    server.know(PATH, row(here["old"]), *map(row, ABSENT))
    result = probe('function("work")')
    assert result.codes == ["W0695"]
    assert "2 of 3 builds of '/opt/bin/program' are not on this machine" in told(result)
    server.know(PATH, row(here["old"]), row(ABSENT[0]), complete=False)
    result = probe('function("work")')
    assert result.codes == ["W0695"] * 2 and "its answer is not complete" in told(result)
    assert "1 of 2 builds of '/opt/bin/program' is not" in told(result)


def none_here(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.know(PATH, *map(row, ABSENT))


def one_elsewhere(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.know(PATH, row(ABSENT[0]))


def unknown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.know(PATH)


def no_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUGINFOD_URLS")


def old_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pass


def busy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.status = 500


def files(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "file:///srv/debug")


def says(text: bytes) -> Callable[[Server, pytest.MonkeyPatch], None]:
    def trouble(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        server.know(PATH)
        server.files = dict.fromkeys(server.files, text)

    return trouble


def much(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_MOST", 1 << 20)
    says(b"[" * (1 << 20) + b"\n")(server, monkeypatch)


@pytest.mark.parametrize(
    ("trouble", "texts"),
    [
        (none_here, ["none of 2 builds of '/opt/bin/program' that servers know is on this"]),
        (one_elsewhere, ["the only build of '/opt/bin/program' that servers know is not on this"]),
        (unknown, ["no server knows a build of '/opt/bin/program'", "asked: http://127.0.0.1:"]),
        (no_server, ["cannot ask which builds", "set DEBUGINFOD_URLS to the addresses"]),
        (old_server, ["cannot learn which builds", "says 404", "before elfutils 0.192"]),
        (busy, ["cannot learn which builds", "the server says 500 Internal Server Error\n"]),
        (files, ["cannot learn which builds", "file:///srv/debug: files cannot be asked"]),
        (says(b"<html>"), ["its answer is no JSON"]),
        (says(b"[" * 100_000), ["its answer is no JSON"]),
        (says(b"[]"), ["its answer is not one about builds"]),
        (says(b'{"results": 1, "complete": true}'), ["its answer is not one about builds"]),
        (says(b'{"results": [1, {"type": "executable", "buildid": "../x"}]}'), ["not complete"]),
        (much, ["its answer has more than 1 MB"]),
    ],
)
def test_trouble(
    server: Server,
    here: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Server, pytest.MonkeyPatch], None],
    texts: list[str],
) -> None:
    trouble(server, monkeypatch)
    result = probe('function("work")')
    assert result.codes == ["E0231"]
    for text in texts:
        assert text in told(result)
    optional = run(f'probe debuginfod.process("{PATH}").begin ?, begin {{ println(1) }}')
    assert optional.codes == [] and points(optional) == ["begin"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("program", 'debuginfod.process("/usr/bin/program")'),
        ("/usr/bin/program", "packages may still have it as '/bin/program'"),
        ("/sbin/program", "packages may have it as '/usr/sbin/program'"),
    ],
)
def test_paths_that_packages_have_not(server: Server, path: str, hint: str) -> None:
    server.know(path)
    assert hint in told(probe("begin", path))


def test_archives_that_are_not_meant(server: Server, here: dict[str, str]) -> None:
    server.know(PATH, row(here["old"], "/pool/shop_1.deb"), row(here["new"]))
    result = probe("begin", front='debuginfod.archive("other*")')
    assert result.codes == ["E0231"]
    assert "no archive that matches 'other*' has a build of '/opt/bin/program'" in told(result)
    assert "builds of the path are in shop_1.deb" in told(result)


@pytest.mark.parametrize(
    ("point", "code", "text"),
    [
        ('debuginfod.process("").begin', "E0212", "empty path"),
        ('debuginfod.archive("").process("/x").begin', "E0212", "empty pattern of archives"),
        ("debuginfod.process.begin", "E0230", "'process' takes a string argument"),
        ("debuginfod.process(1).begin", "E0230", "'process' takes a string argument"),
        ('debuginfod.process("/x").start', "E0230", "'start' is not one of the"),
        ('debuginfod.proces("/x").begin', "E0230", "did you mean 'process'"),
    ],
)
def test_refused(server: Server, point: str, code: str, text: str) -> None:
    result = run(f"probe {point} {{ println(1) }}")
    assert result.codes == [code] and text in told(result) and not server.asked


def test_a_second_server_makes_up_for_the_first(
    server: Server, here: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.know(PATH, row(here["old"]))
    monkeypatch.setenv("DEBUGINFOD_URLS", f"file:///nothing {server.url}")
    result = probe('function("work")')
    assert points(result) == [f'process("{folder}/old").function("work")']
    assert result.codes == ["W0695"] and "file:///nothing: files cannot" in told(result)


def test_what_was_made_of_an_answer_depends_on_it(
    server: Server, here: dict[str, str], folder: Path
) -> None:
    questions.forget()
    server.know(PATH, row(here["old"]))
    probe("begin")
    ((question, known),) = [row for row in questions.asked() if row[0].startswith("builds_of ")]
    assert str(folder / "old") in known and questions.answer(question) == known
    server.know(PATH, row(here["old"]), row(here["new"]))
    assert questions.answer(question) != known


def test_processes_are_looked_at(server: Server, folder: Path, tmp_path: Path) -> None:
    """A program that runs is found wherever its file lies."""
    program = compiled(tmp_path, "int main(void) { for (;;); }", name="spinning")
    server.know(PATH, row(UserFile.open(program).build_id))
    assert probe("begin").codes == ["E0231"]
    running = subprocess.Popen(["nice", "-n", "19", str(program)])
    try:
        has_mapped(running.pid, program)
        assert points(probe("begin")) == [f'process("{program}").begin']
    finally:
        running.kill()
        running.wait()


def real_server(served: Path, port: int) -> list[str]:
    """Return words that run debuginfod over a folder's packages: this host's, or the oracle's."""
    words = ["-p", str(port), "-d", ":memory:", "-U", "-Z", ".deb=dpkg-deb --fsys-tarfile"]
    own = shutil.which("debuginfod")
    if own and command(own, "--version").split()[2:] >= ["0.192"]:
        return [own, *words, str(served)]
    root = CACHE.parent / "stapy/oracle/root"
    if os.geteuid() or not (root / "usr/bin/debuginfod").exists():
        pytest.skip("no debuginfod of elfutils 0.192, here or in the chroot of tests/oracle")
    mount = f"mount --bind {shlex.quote(str(served))} {shlex.quote(str(root / 'mnt'))}"
    # The chroot has a /tmp of its own, not the folder that the tests were given.
    server = f"chroot {shlex.quote(str(root))} {shlex.join(['debuginfod', *words, '/mnt'])}"
    mounted = f"{mount} && exec env -u TMPDIR {server}"
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", mounted]


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_real_server(
    here: dict[str, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package with one build, and one with another that is nowhere on this machine."""
    served = tmp_path / "served"
    other = compiled(tmp_path, "int main(void) { return 42; }", name="other")
    for version, program in (("1", folder / "old"), ("2", other)):
        tree = tmp_path / version
        (tree / "opt/bin").mkdir(parents=True)
        (tree / "DEBIAN").mkdir()
        shutil.copy(program, tree / "opt/bin/program")
        text = f"Package: shop\nVersion: {version}\nArchitecture: amd64\nMaintainer: x <x@y>\n"
        (tree / "DEBIAN/control").write_text(f"{text}Description: programs of a test\n")
        served.mkdir(exist_ok=True)
        command("dpkg-deb", "--build", str(tree), str(served / f"shop_{version}.deb"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://localhost:{port}")
    log = (tmp_path / "log").open("wb")
    running = subprocess.Popen(real_server(served, port), stdout=log, stderr=log)
    try:
        wait_for(lambda: running.poll() is not None or len(metadata.builds(PATH).builds) == 2)
        assert running.poll() is None, (tmp_path / "log").read_text()
        result = probe('function("work")')
        assert points(result) == [f'process("{folder}/old").function("work")']
        assert result.codes == ["W0695"] and "1 of 2 builds" in told(result)
        result = probe("begin", "/o*/b?n/prog*", 'debuginfod.archive("shop_1.deb")')
        assert points(result) == [f'process("{folder}/old").begin'] and result.codes == []
        assert "the only build" in told(probe("begin", front='debuginfod.archive("shop_2*")'))
        assert "no server knows" in told(probe("begin", "/bin/program"))
    finally:
        running.terminate()
        running.wait()
        log.close()


def test_an_alias_of_that_word() -> None:
    """It is an alias like others: what it stands for is no path."""
    result = run("probe debuginfod.own = begin {} probe debuginfod.own { println(1) }")
    assert points(result) == ["begin"]

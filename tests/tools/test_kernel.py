"""``stapy kernel``, with an apt and a dpkg of ours that know a few packages."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import threading
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from stapy import arch
from stapy.kernel import suites
from stapy.tools import kernel
from tests.program import ROOT, stapy_command

# Names of packages; those of the line 7.2 are split as Debian's are.
KNOWN = {
    "linux-image-6.1.0-9-amd64": "",
    "linux-image-6.1.0-9-amd64-dbg": "",
    "linux-headers-6.1.0-9-amd64": "linux-headers-6.1.0-9-common linux-kbuild-6.1",
    "linux-image-6.1.0-12-amd64": "",
    "linux-headers-6.1.0-12-amd64": "linux-headers-6.1.0-12-common linux-kbuild-6.1",
    "linux-image-6.1.0-12-cloud-amd64": "",
    "linux-headers-6.1.0-12-cloud-amd64": "linux-headers-6.1.0-12-common linux-kbuild-6.1",
    "linux-image-7.2.1+deb14-amd64": "linux-binary-7.2.1+deb14-amd64",
    "linux-headers-7.2.1+deb14-amd64": "linux-kbuild-7.2.1+deb14",
    "linux-headers-7.2.1+deb14-common": "",
    "linux-kbuild-7.2.1+deb14": "",
    "linux-binary-7.2.1+deb14-amd64": "",
    "linux-image-6.12.3+deb13-amd64": "",
    "linux-headers-6.12.3+deb13-amd64": "linux-kbuild-6.12.3+deb13",
    "linux-kbuild-6.12.3+deb13": "",
    "linux-image-6.1.0-13-cloud-arm64": "",
    "linux-headers-6.1.0-13-cloud-arm64": "linux-headers-6.1.0-13-common linux-kbuild-6.1:arm64",
    "linux-headers-6.1.0-13-common": "",
    # Of a new release apt has the headers some days before the signed image.
    "linux-headers-6.1.0-13-amd64": "linux-headers-6.1.0-13-common",
    "linux-headers-6.1.0-13-cloud-amd64": "linux-headers-6.1.0-13-common",
    "linux-image-6.1.0-13-cloud-amd64-unsigned": "",
    "linux-image-6.12.3+deb13-cloud-amd64": "",
    "linux-headers-6.12.3+deb13-cloud-amd64": "linux-kbuild-6.12.3+deb13",
    "linux-image-6.1.0-8-cloud-amd64": "",
    "linux-headers-6.1.0-12-common": "",
    "linux-headers-6.1.0-9-common": "",
    "linux-kbuild-6.1": "",
}
PROGRAM = """#!/usr/bin/python3 -S
import os, re, sys
known = {known!r}
def depends(one): return known[one].split() if one in known else sys.exit("E: No packages found")
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open({log!r}, "a") as log: print(name, *words, file=log)
if "download" in words and os.environ.get("BROKEN") == words[-1]:
    sys.exit(print("E: 404", file=sys.stderr) or 100)
if "download" in words and "HANGS" in os.environ:
    import time
    open("begun", "w").close()
    time.sleep(600)
if "update" in words and "REFUSES" in os.environ:
    sys.exit(print(os.environ["REFUSES"], end="", file=sys.stderr) or 100)
if "update" in words:
    folder = os.path.dirname(os.environ["APT_CONFIG"]) + "/state/lists/"
    from email.utils import formatdate
    rows = open(os.path.dirname(os.environ["APT_CONFIG"]) + "/sources.new").read().splitlines()
    lists = {{row.split()[-2]: "Date: " + formatdate() + "\\n" for row in rows}}
    lists.update(eval(os.environ.get("LISTS", "{{}}")))
    for suite, fields in lists.items():
        if fields is None: continue
        open(folder + "deb.debian.org_debian_dists_" + suite + "_InRelease", "w").write(fields)
if words[0] == "search":
    [print(one, "- text") for one in known if re.search(words[2], one)]
elif "show" in words:
    [print("Package: " + one + "\\nDepends: x\\nSize: 2000000\\n") for one in words[2:]]
elif words[0] == "depends":
    [print("  Depends:", need) for one in words[1:] for need in depends(one)]
elif "install" in words: print("Inst bash (1 [arm64])\\nInst python3.11 (1 [arm64])")
elif "download" in words:
    for word in words[words.index("download") + 1:]: open(word + "_1_amd64.deb", "w").close()
elif name == "dpkg":
    package = os.path.basename(words[1]).split("_")[0].split(":")[0]
    if not package.startswith("linux-"):
        os.makedirs(words[2] + "/etc", exist_ok=True)
        sys.exit(open(words[2] + "/" + package, "w").close())
    kind, release = re.fullmatch("linux-([a-z]*)-(.*)", package.replace("-dbg", "")).groups()
    places = {{"image": "lib/modules/%s/kernel", "headers": "usr/src/linux-headers-%s",
              "kbuild": "usr/lib/linux-kbuild-%s", "binary": "usr/lib/modules/%s/kernel"}}
    os.makedirs(os.path.join(words[2], places[kind] % release), exist_ok=True)
    os.makedirs(os.path.join(words[2], "usr/share/doc", package), exist_ok=True)
elif name == "depmod": open(words[1] + "/lib/modules/" + words[2] + "/modules.dep", "w").close()
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put our programs first, and an empty cache; the file has what was run."""
    log, programs = tmp_path / "log", tmp_path / "bin"
    log.touch()
    programs.mkdir()
    for name in ("apt-cache", "apt-get", "dpkg", "depmod"):
        (programs / name).write_text(PROGRAM.format(known=KNOWN, log=str(log)))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SYSTEMTAP_DIR", raising=False)
    monkeypatch.setattr(arch, "host", lambda: arch.X86_64)
    monkeypatch.setattr(suites, "own_suite", lambda: "bookworm")
    return log


def tree(log: Path) -> list[str]:
    root = log.parent / "cache/stapy/kernels"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("6.1", "6.1.0-12-amd64"),
        ("6.1-amd64", "6.1.0-12-amd64"),
        ("6.1-cloud", "6.1.0-12-cloud-amd64"),
        ("6.1-cloud-amd64", "6.1.0-12-cloud-amd64"),
        ("6.1.0-9-amd64", "6.1.0-9-amd64"),
        ("7", "7.2.1+deb14-amd64"),
        ("6.12.3-cloud", "6.12.3+deb13-cloud-amd64"),
        ("6.12.3+deb13-amd64", "6.12.3+deb13-amd64"),
        ("6.12.3+deb13-cloud-amd64", "6.12.3+deb13-cloud-amd64"),
    ],
)
def test_names(log: Path, capsys: pytest.CaptureFixture[str], name: str, release: str) -> None:
    assert kernel.main(["fetch", "-n", name]) == 0
    said = capsys.readouterr()
    assert said.out == f"{release}\n" and f"{release}: " in said.err
    assert "download" not in log.read_text() and not tree(log)


def test_the_kernel_that_tests_ask_for(log: Path) -> None:
    """`.ci/setup` chooses the newest of a line of which there are headers and an image."""
    text = (ROOT / ".ci/setup").read_text()
    function = text[text.index("newest() {") : text.index("have_kernel()")]
    words = ["bash", "-c", f"{function}\nnewest 6.1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "6.1.0-12-cloud-amd64\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fetch", "6.1-rt"], "no kernel 6.1-rt; of that line: 6.1.0-9-amd64, 6.1.0-12-amd64, 6.1"),
        (["fetch", "6.1-rt"], "6.1.0-12-cloud-amd64 (apt-get update)"),
        (["fetch", "5.4"], "no kernel 5.4 (no suite of Debian is known to have it; docs/wall.md"),
        (["fetch", "5.10"], "no kernel 5.10 (try -s bullseye,bullseye-security)"),
        (["fetch", "5.10-rt"], "no kernel 5.10-rt (try -s bullseye,bullseye-security)"),
        (["fetch", "8"], "no kernel 8 (try -s sid,trixie,trixie-security,trixie-backports)"),
        (["fetch", "-s", "sid", "5.10"], "sid: no kernel 5.10 (try -s bullseye,bullseye-secur"),
        (["fetch", "-s", "sid", "7.2.9+deb14-amd64"], "7.2.1+deb14-amd64 (--from names other sui"),
        # Another suite's kernel of the same numbers is not meant.
        (["fetch", "6.12.3+deb12-amd64"], "of that line: 6.12.3+deb13-amd64, 6.12.3+deb13-cloud"),
        (["fetch", "6.12.9+deb13-amd64"], "(try -s trixie,trixie-security,trixie-backports)"),
        (["fetch", "6.1.0-10-amd64"], "no kernel 6.1.0-10-amd64; of that line: 6.1.0-9-amd64, "),
        (["fetch", "new"], "'new' is neither a release"),
        (["fetch", "6.1-"], "'6.1-' is neither a release"),
        (["fetch", "6.1;x"], "'6.1;x' is neither a release"),
        (["remove", "6.1"], "'6.1' was not fetched, only: none"),
    ],
)
def test_unknown(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert kernel.main(words) == 2
    said = capsys.readouterr()
    assert told in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize("words", [[], ["-n"]])
def test_all_that_is_unknown_is_told(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Nothing is fetched then; what cannot be asked at all is told once."""
    assert kernel.main(["fetch", *words, "5.4", "6.1", "new", "5.10"]) == 2
    said = capsys.readouterr()
    errors = [row for row in said.err.splitlines() if row.startswith("ERROR: ")]
    assert len(errors) == 3 and not said.out
    assert "5.4 (" in errors[0] and "'new'" in errors[1] and "5.10 (" in errors[2]
    assert ("6.1.0-12-amd64: 4 packages" in said.err) == bool(words)
    assert "download" not in log.read_text()
    assert kernel.main(["remove", "6.1", "6.12"]) == 2
    assert "'6.1', '6.12' were not fetched, only: none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "E: Failed to fetch http://nosuch/sid/InRelease  Could not resolve 'nosuch'\n"
            "E: Failed to fetch http://nosuch/trixie/InRelease  Could not resolve 'nosuch'\n"
            "E: Some index files failed to download. They have been ignored, or old ones used.\n",
            "http://nosuch/sid/InRelease: Could not resolve 'nosuch' (and 1 more) (MIRROR names",
        ),
        ("E: The repository 'x' is not signed.\nN: See apt-secure(8)\n", "'x' is not signed."),
        ("something else\n", "apt-get: something else"),
        ("", "apt-get: exit status 100"),
    ],
)
def test_why_lists_could_not_be_had(
    log: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    told: str,
) -> None:
    monkeypatch.setenv("REFUSES", said)
    monkeypatch.setenv("MIRROR", "http://nosuch/debian/")
    assert kernel.main(["fetch", "-n", "--from=sid,bullseye-security", "7", "8"]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
    sources = (log.parent / "cache/stapy/apt/sources.new").read_text()
    assert [row.split()[2] for row in sources.splitlines()] == [
        "http://nosuch/debian",
        "http://nosuch/debian-security",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["fetch"],
        ["list", "6.1"],
        ["remove"],
        ["list", "--debug"],
        ["list", "--from="],
        ["fetch", "--from=", "6.1"],
        ["fetch", "--old-lists", "6.1"],
        ["fetch", "--from=,", "6.1"],
        ["fetch", "--from=sid\ndeb http://x sid", "6.1"],
        ["fetch", "--from=sid contrib", "6.1"],
        ["make"],
        ["fetch", "-a", "vax", "6.1"],
        ["list", "-a", "arm64"],
        [],
    ],
)
def test_wrong_words(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        kernel.main(words)
    assert end.value.code == 2 and "--help' lists the options" in capsys.readouterr().err


def test_shared_parts_stay_as_long_as_one_needs_them(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernel.main(["fetch", "6.1.0-9-amd64", "6.1"]) == 0
    assert capsys.readouterr().out == "6.1.0-9-amd64 6.1.0-12-amd64\n"
    assert kernel.main(["list"]) == 0
    assert capsys.readouterr().out == "6.1.0-9-amd64  headers\n6.1.0-12-amd64  headers\n"
    log.write_text("")
    assert kernel.main(["fetch", "6.1"]) == 0
    assert "download" not in log.read_text()
    root = log.parent / "cache/stapy/kernels"
    assert kernel.main(["remove", "6.1.0-12-amd64"]) == 0
    assert (root / "usr/lib/linux-kbuild-6.1").is_dir()
    assert not (root / "usr/src/linux-headers-6.1.0-12-common").exists()
    assert (root / "usr/src/linux-headers-6.1.0-9-common").is_dir()
    assert kernel.main(["remove", "6.1.0-9-amd64"]) == 0
    assert not list(root.rglob("*6.1*"))
    assert not list((root.parent / "kernels.fetched").glob("linux-*"))


def test_a_line_is_not_the_beginning_of_another(log: Path) -> None:
    assert kernel.main(["fetch", "6.1", "6.12"]) == 0
    assert kernel.main(["remove", "6.1.0-12-amd64"]) == 0
    root = log.parent / "cache/stapy/kernels"
    assert not (root / "usr/lib/linux-kbuild-6.1").exists()
    assert (root / "usr/lib/linux-kbuild-6.12.3+deb13").is_dir()


def test_a_release_that_no_list_names_any_more(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was fetched stays usable; of its debug package nothing is known."""
    release = "6.1.0-9-amd64"
    assert kernel.main(["fetch", release]) == 0
    for name in ("apt-cache", "apt-get"):
        program = log.parent / "bin" / name
        program.write_text(program.read_text().replace(release, "6.1.0-10-amd64"))
    capsys.readouterr()
    assert kernel.main(["fetch", release]) == 0
    assert capsys.readouterr().out == f"{release}\n"
    assert kernel.main(["fetch", "--debug", release]) == 2


def test_what_was_begun_can_be_removed(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "linux-image-6.1.0-12-amd64")
    assert kernel.main(["fetch", "6.1"]) == 2
    assert kernel.main(["list"]) == 0
    assert capsys.readouterr().out == "6.1.0-12-amd64  headers\n"
    assert kernel.main(["remove", "6.1.0-12-amd64"]) == 0
    assert not list((log.parent / "cache/stapy").rglob("*6.1*"))


@pytest.mark.parametrize("words", [["fetch", "-n", "-s", "sid", "7"], ["fetch", "7"]])
def test_two_at_once(log: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """One waits for the other before it looks at lists, which that may be about to change."""
    folder = log.parent / "cache/stapy/kernels.fetched"
    folder.mkdir(parents=True)
    waiting, status = threading.Event(), []
    monkeypatch.setattr(
        kernel.progress, "tell", lambda text: waiting.set() if "waiting" in text else None
    )
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        second = threading.Thread(target=lambda: status.append(kernel.main(words)))
        second.start()
        assert waiting.wait(60) and not log.read_text()
    second.join()
    assert status == [0] and log.read_text()


def test_modules_below_usr(log: Path) -> None:
    assert kernel.main(["fetch", "7"]) == 0
    modules = log.parent / "cache/stapy/kernels/lib/modules/7.2.1+deb14-amd64"
    assert modules.is_symlink() and (modules / "kernel").is_dir()
    assert (modules / "modules.dep").is_file()


def test_what_could_not_be_had_is_fetched_the_next_time(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "linux-image-6.1.0-12-amd64")
    assert kernel.main(["fetch", "6.1"]) == 2
    assert "apt-get: E: 404" in capsys.readouterr().err
    monkeypatch.delenv("BROKEN")
    log.write_text("")
    assert kernel.main(["fetch", "6.1"]) == 0
    assert [row for row in log.read_text().splitlines() if "download" in row] == [
        "apt-get -qq download linux-image-6.1.0-12-amd64",
        "apt-get -qq download linux-kbuild-6.1",
    ]


def test_lists_of_other_suites_are_kept_for_a_day(log: Path) -> None:
    words = ["fetch", "-n", "--from=sid,bullseye-security", "7"]
    assert kernel.main(words) == 0
    apt = log.parent / "cache/stapy/apt"
    assert [row.split()[2:] for row in (apt / "sources").read_text().splitlines()] == [
        ["http://deb.debian.org/debian", "sid", "main"],
        ["http://deb.debian.org/debian-security", "bullseye-security", "main"],
    ]
    assert log.read_text().count("update") == 1
    assert kernel.main(words) == 0
    assert log.read_text().count("update") == 1
    os.utime(apt / "sources", (0, 0))
    assert kernel.main(words) == 0
    assert log.read_text().count("update") == 2


def dated(made: float, until: float | None = None) -> str:
    """Write a list that was made so many days ago, and is good until so many days from now."""
    now = time.time()
    text = f"Origin: Debian\nDate: {formatdate(now - made * DAY)}\n"
    return text + (f"Valid-Until: {formatdate(now + until * DAY)}\n" if until is not None else "")


DAY = 24 * 3600
NEW = dated(3, 4)


@pytest.mark.parametrize(
    ("lists", "refused", "warned"),
    [
        ({"sid": NEW}, "", ""),
        ({"sid": NEW, "trixie": dated(100)}, "", ""),  # between two point releases
        ({"sid": NEW, "trixie": dated(300)}, "", "the list of trixie is of "),
        ({"sid": dated(10, -3)}, "the list of sid was good until ", ""),
        ({"sid": NEW, "trixie": dated(10, -3)}, "the list of trixie was good until ", ""),
        ({"sid": dated(-5, 9)}, "which is still to come", ""),
        ({"sid": "Date: soon\n"}, "the list of sid does not say of when it is", ""),
        ({"sid": None}, "there is no list of sid that says of when it is", ""),
        ({"sid": NEW, "bullseye": dated(900, -890)}, "", ""),  # which nobody asks for
    ],
)
def test_lists_that_are_old(
    log: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    lists: dict[str, str | None],
    refused: str,
    warned: str,
) -> None:
    """Signed lists may be sent again by somebody in between; the user may take them."""
    monkeypatch.setenv("LISTS", repr(lists))
    words = ["fetch", "-n", "--from=sid,trixie", "7"]
    assert kernel.main(words) == (2 if refused else 0)
    said = capsys.readouterr().err
    assert refused in said and ("--old-lists takes it" in said) is bool(refused), said
    assert ("WARNING: " + warned in said) is bool(warned), said
    assert kernel.main([*words, "--old-lists"]) == 0
    assert ("WARNING: " in capsys.readouterr().err) is bool(refused or warned)
    if refused:  # not only while they are new here
        assert kernel.main(words) == 2
        assert log.read_text().count("update") == 2  # and they were kept for those who take them


def test_without_apt(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert kernel.main(["fetch", "6.1"]) == 2
    assert "there is no apt-cache here" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_while_it_fetches(log: Path, number: signal.Signals) -> None:
    scratch = log.parent / "scratch"
    scratch.mkdir(mode=0o700)
    command = stapy_command("kernel", "fetch", "6.1")
    environment = {**os.environ, "HANGS": "1", "TMPDIR": str(scratch)}
    # What a background run or nohup ignores, its children ignore as well.
    command = ["env", "--default-signal", *command]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 120
        while not list(scratch.glob("stapy-kernel-*/begun")):
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 128 + number, (process.returncode, said)
    assert list(scratch.iterdir()) == [], said


def test_of_another_architecture(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The programs that build modules are this machine's; guests get programs of theirs."""
    assert kernel.main(["fetch", "-a", "arm64", "6.1-cloud"]) == 0
    said = capsys.readouterr()
    assert said.out == "6.1.0-13-cloud-arm64\n" and "programs of arm64: 2 packages" in said.err
    downloads = [
        row.split("download ")[1] for row in log.read_text().splitlines() if "download" in row
    ]
    assert "linux-kbuild-6.1:amd64" in downloads and "bash python3.11" in downloads
    cache = log.parent / "cache/stapy"
    conf = (cache / "apt-arm64/conf").read_text()
    assert 'APT::Architecture "arm64";' in conf and '{ "arm64"; "amd64"; }' in conf
    assert "sourcelist" not in conf and "Check-" not in conf  # this machine's own say what to ask
    assert not (cache / "apt").exists()
    assert (cache / "userland/arm64/etc/hostname").is_file()
    # Nothing is asked for once more, and this machine's kernels live beside it.
    log.write_text("")
    assert kernel.main(["fetch", "--arch=aarch64", "6.1-cloud"]) == 0
    assert kernel.main(["fetch", "6.1-cloud"]) == 0
    asked = [row for row in log.read_text().splitlines() if "download" in row]
    assert len(asked) == 3 and "kbuild" not in "".join(asked)
    capsys.readouterr()
    assert kernel.main(["list"]) == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()] == [
        "6.1.0-12-cloud-amd64", "6.1.0-13-cloud-arm64",
    ]  # fmt: skip
    # With the last kernel of an architecture go its programs.
    assert kernel.main(["remove", "6.1.0-13-cloud-arm64"]) == 0
    assert not (cache / "userland/arm64").exists()
    assert (cache / "kernels/usr/lib/linux-kbuild-6.1").is_dir()


def test_programs_that_did_not_all_come_are_fetched_the_next_time(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "python3.11")
    assert kernel.main(["fetch", "-a", "arm64", "6.1-cloud"]) == 2
    assert not list((log.parent / "cache/stapy/userland").iterdir())
    monkeypatch.delenv("BROKEN")
    assert kernel.main(["fetch", "-a", "arm64", "6.1-cloud"]) == 0
    assert (log.parent / "cache/stapy/userland/arm64/bash").is_file()


def test_a_release_of_another_architecture_says_so(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kernel.main(["fetch", "6.1.0-13-cloud-arm64"]) == 2
    assert "(-a arm64 has kernels of that architecture)" in capsys.readouterr().err

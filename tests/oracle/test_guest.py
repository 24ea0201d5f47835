"""How SystemTap is called: its cache is used, but never for a script with other comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.oracle import chroot, guest


def called(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words of pass 4 for a script."""
    seen: list[list[str]] = []

    def run(words: list[str], *_: object) -> subprocess.CompletedProcess[bytes]:
        seen.append(words)
        return subprocess.CompletedProcess(words, 1, b"", b"refused\n")

    monkeypatch.setattr(chroot, "run", run)
    (folder / "x.stp").write_text(text)
    assert guest.build("6.1.0-1-amd64", ["x.stp"], folder).stderr == "refused\n"
    return seen[0]


def test_each_text_is_a_script_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = called("probe begin { exit() }\n", tmp_path, monkeypatch)
    assert plain == called("probe begin { exit() }\n", tmp_path, monkeypatch)
    assert plain != called("# first\nprobe begin { exit() }\n", tmp_path, monkeypatch)
    assert "--poison-cache" not in plain


def test_an_interrupted_search_for_tracepoints_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "root/root/.systemtap/cache/4f"
    cache.mkdir(parents=True)
    for name in ("tracequery_4f_1.o", "stapconf_4f_1.h"):
        (cache / name).write_text("")

    def run(*_: object) -> subprocess.CompletedProcess[bytes]:
        raise subprocess.TimeoutExpired("stap", 900)

    monkeypatch.setattr(chroot, "run", run)
    monkeypatch.setattr(chroot, "root", lambda: tmp_path / "root")
    built = guest.build("6.1.0-1-amd64", ["x.stp"], tmp_path)
    assert built.stderr == "SystemTap takes for ever\n"
    assert [path.name for path in cache.iterdir()] == ["stapconf_4f_1.h"]

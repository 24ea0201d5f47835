"""Files of a row are on the disk when the next one has been finished, and their names as well."""

import errno
import os
from pathlib import Path

import pytest

from stapy.run.errors import RunError
from stapy.run.output import File

BLOCK = memoryview(b"x" * 1000)


@pytest.fixture
def synced(monkeypatch):
    """Names of what was brought to the disk, in order."""
    names = []
    fsync = os.fsync

    def sync(fd):
        names.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", sync)
    return names


def test_each_finished_file_is_brought_to_the_disk(tmp_path, synced):
    file = File(str(tmp_path / "out"), 2000, 3)
    for _ in range(9):
        file.write(BLOCK)
    file.close()
    files = [name for name in synced if name.startswith("out.")]
    assert files == [f"out.{number}" for number in range(5)]
    assert synced.count(tmp_path.name) == 5
    kept = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert kept == {"out.2": 2000, "out.3": 2000, "out.4": 1000}
    with pytest.raises(OSError):
        os.fstat(file.fd)


def test_one_file_alone_is_left_to_the_kernel(tmp_path, synced):
    file = File(str(tmp_path / "out"))
    file.write(BLOCK)
    file.close()
    assert synced == []


@pytest.mark.parametrize("files", [2, 3])
def test_what_does_not_reach_the_disk_is_an_error(tmp_path, monkeypatch, files):
    def refuse(fd):
        if Path(f"/proc/self/fd/{fd}").readlink().name == "out.0":
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    file = File(str(tmp_path / "out"), 1000)
    with pytest.raises(RunError, match=r"Couldn't write '.*/out\.0': Input/output error"):
        for _ in range(files):
            file.write(BLOCK)
        file.close()

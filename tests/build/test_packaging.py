"""The wheel has every package, and the data that lie outside of ``stapy/`` in a checkout."""

from __future__ import annotations

import configparser
import importlib.util
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ("docker", "examples", "include", "runtime", "tapsets", "templates")


def packages() -> list[str]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config["options"]["packages"].split()


def test_setup_cfg_names_every_package() -> None:
    have = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "stapy").rglob("__init__.py")
    }
    assert set(packages()) == have | {f"stapy.share.{name}" for name in DATA}


def test_built_package_has_all_files(tmp_path: Path) -> None:
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "README.md", "COPYING"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("stapy", *DATA):
        shutil.copytree(ROOT / name, source / name, ignore=unwanted)
    # The step of a wheel that decides what is in it; a whole wheel may need the network.
    target = tmp_path / "built"
    command = [sys.executable, "-c", "import setuptools; setuptools.setup()"]
    done = subprocess.run(
        [*command, "-q", "build_py", "--build-lib", str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "stapy").rglob("*")
        if path.is_file() and path.suffix in (".py", ".sh", ".txt", ".md", ".json")
    }
    for folder in DATA:
        wanted |= {
            f"stapy/share/{path.relative_to(source).as_posix()}"
            for path in (source / folder).rglob("*")
            if path.is_file() and not path.name.startswith(".")
        }
    assert names == wanted


def tracked() -> set[str]:
    """List the files of the repository as they are checked in."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


def run_setuptools(folder: Path, *words: str) -> None:
    """Run setuptools in a folder."""
    command = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_source_archive_is_the_repository_and_makes_a_whole_wheel(tmp_path: Path) -> None:
    """Nothing that is checked in is left out; man pages and documents come with the wheel."""
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    names = tracked()
    for name in names:
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "source" / name)
    run_setuptools(tmp_path / "source", "sdist", "-d", str(tmp_path))
    (archive,) = tmp_path.glob("stapy-*.tar.gz")
    with tarfile.open(archive) as file:
        packed = {name.partition("/")[2] for name in file.getnames() if "/" in name}
    assert names <= packed, names - packed
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    run_setuptools(folder, "bdist_wheel", "-d", str(tmp_path))
    (wheel,) = tmp_path.glob("stapy-*.whl")
    with zipfile.ZipFile(wheel) as file:
        held = set(file.namelist())
    data = f"{archive.name.removesuffix('.tar.gz')}.data/data/share"
    pages = {f"{data}/man/man{name[-5] if name.endswith('stap') else name[-1]}/{name[4:]}"
             for name in names if name.startswith("man/")}  # fmt: skip
    # What makes the site of the documents, and their pictures, is for a checkout.
    texts = {f"{data}/doc/stapy/{name.removeprefix('docs/')}" for name in names
             if name.startswith("docs/") and not name.startswith("docs/site/")
             and not name.endswith(".py")}  # fmt: skip
    assert pages | texts <= held, (pages | texts) - held
    code = {name for name in names if name.startswith("stapy/") and name.endswith(".py")}
    assert code <= held, code - held

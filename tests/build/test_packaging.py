"""The wheel has every package, and the data that lie outside of ``stapy/`` in a checkout."""

from __future__ import annotations

import configparser
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ("docker", "include", "runtime", "tapsets", "templates")


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

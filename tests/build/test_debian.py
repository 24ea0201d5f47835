"""Debian's packages have all that the wheel has, and start with Debian's Python."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.build.test_packaging import ROOT, run_setuptools, tracked

PROGRAMS = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "pybuild": "dh-python"}
# What the interpreter of packages must have, by the package that brings it.
PARTS = {
    "pybuild-plugin-pyproject": "import build, installer",
    "python3-ply": "import ply",
    "python3-setuptools": "import setuptools",
}
PYTHON = "/usr/bin/python3"


def missing() -> list[str]:
    """List the packages that building packages lacks here."""
    found = [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    for package, code in PARTS.items():
        done = subprocess.run([PYTHON, "-c", code], capture_output=True, check=False)
        found += [package] if done.returncode else []
    return found


def test_recipe_names_what_setup_cfg_names() -> None:
    """Without the programs that build: bounds, programs and the version are the same."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    control = (ROOT / "debian/control").read_text(encoding="utf-8")
    for row in config["options"]["install_requires"].strip().split("\n"):
        name, bound = row.split(" >= ")
        assert f" python3-{name.strip()} (>= {bound})," in control
    scripts = config["options.entry_points"]["console_scripts"].strip().split("\n")
    installed = "".join(
        (ROOT / f"debian/{name}.install").read_text(encoding="utf-8")
        for name in ("stapy", "stapy-run")
    )
    for row in scripts:
        assert f"usr/bin/{row.split('=')[0].strip()}\n" in installed
    version = subprocess.run(
        [sys.executable, "-c", "import stapy; print(stapy.__version__)"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    log = (ROOT / "debian/changelog").read_text(encoding="utf-8")
    assert log.startswith(f"stapy ({version}) ")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build packages and wheel of what is checked in; return the folder and the packages' files."""
    lacking = missing()
    if lacking:
        pytest.skip(f"not installed: {' '.join(lacking)}")
    folder = tmp_path_factory.mktemp("debian")
    source = folder / "source"
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(source, folder / "wheel")
    # Its build dependencies are looked for above; build-essential is for others than us.
    done = subprocess.run(
        ["dpkg-buildpackage", "-d", "-b", "-us", "-uc"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "is used, but is not defined" not in done.stderr
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
    return folder, folder / "root"


@pytest.mark.build
def test_packages_have_what_the_wheel_has(packages: tuple[Path, Path]) -> None:
    folder, root = packages
    run_setuptools(folder / "wheel", "bdist_wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    library = "usr/lib/python3/dist-packages"
    wanted = set()
    for name in names:
        if ".dist-info/" in name:
            continue
        _, is_data, rest = name.partition(".data/data/")
        wanted.add(f"usr/{rest}" if is_data else f"{library}/{name}")
    packed = {name.removesuffix(".gz") for name in there}
    assert wanted <= packed, sorted(wanted - packed)
    for name in tracked():
        _, is_ours, rest = name.partition("stapy/run/")
        if is_ours and not _:
            assert f"usr/share/stapy-run/stapy_run/{rest}" in there


@pytest.mark.build
def test_what_is_installed_starts(packages: tuple[Path, Path], tmp_path: Path) -> None:
    """With Debian's interpreter, by its libraries; stapy-run without any."""
    _, root = packages
    text = (root / "usr/bin/stapy-run").read_text()
    assert text.startswith("#!/usr/bin/python3\n")
    place = tmp_path / "stapy-run"
    place.write_text(text.replace('"/usr/share', f'"{root}/usr/share'))
    done = subprocess.run(
        [PYTHON, "-I", "-S", str(place), "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: stapy-run")
    libraries = "import ply, jinja2, elftools"
    if subprocess.run([PYTHON, "-c", libraries], capture_output=True, check=False).returncode:
        pytest.skip("not installed: python3-ply python3-jinja2 python3-pyelftools")
    code = "import stapy.cli, sys; print(stapy.__file__); sys.exit(stapy.cli.main())"
    env = {**os.environ, "PYTHONPATH": f"{root}/usr/lib/python3/dist-packages"}
    done = subprocess.run(
        [PYTHON, "-c", code, "-p1", "-e", "probe begin { exit() }"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{root}/usr/lib/python3/dist-packages/stapy/")
    assert "probe begin" in done.stdout

"""Programs that Debian ships with marks, from their packages: what their tapsets tell is so.

A script of ``languages/`` is a case (see ``harness``) with a ``# package: NAME``, whose files stand
for installed ones, at translation and in the guest.  ``{program}`` is what
was made of the assembler text beside it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import EXITED, Machine
from tests import debugpackage
from tests.debuginfo.user.sources import built
from tests.vm import packages
from tests.vm.harness import Case, build, check_case, patience, read_case, run_built

pytestmark = [pytest.mark.build, pytest.mark.vm]

FOLDER = Path(__file__).parent / "languages"
TAPSETS = data_dir("tapsets") / "user"
CASES = sorted(FOLDER.glob("*.stp"))
WITH_ALIASES = [  # the case, and a tapset that it is about
    (path, tapset)
    for path in CASES
    for tapset in sorted(TAPSETS.glob(f"{path.stem}*.stp"))
    if not tapset.name.startswith("python_")
    and (path.stem != "hotspot" or tapset.name == path.name)
]


def _package(path: Path) -> Path:
    """Fetch the files of the package that a script names."""
    try:
        return debugpackage.program_root(read_case(path).package)
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))


def _prepared(case: Case, root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Return a case with the package's programs before all others."""
    assert case.command
    command = case.command
    if "{program}" in command:
        library = root / "usr/lib" / f"{os.uname().machine}-linux-gnu" / "libstdc++.so.6"
        words = [str(case.path.with_suffix(".s")), str(library.resolve())]
        command = command.replace("{program}", str(built(folder / "program", *words)))
    for name, value in packages.environment(root).items():
        monkeypatch.setenv(name, value)
    case.command = packages.command_in(root, command)
    return case


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_programs_of_a_package(
    path: Path,
    guest: Machine,
    release: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = _package(path)
    case = _prepared(read_case(path), root, tmp_path, monkeypatch)
    made = build(release, case.words(), tmp_path)
    assert made.module, made.stderr
    done = guest.run(
        ["sh", "-c", packages.ground(root)],
        env={**os.environ, "TZ": "UTC"},
        timeout=90 * patience(guest),
    )
    assert done.kind == EXITED and done.status == 0, (done.stdout, done.stderr)
    check_case(case, run_built(guest, made, case.words(), case.timeout))


@pytest.mark.parametrize(("path", "tapset_file"), WITH_ALIASES, ids=lambda path: path.stem)
def test_every_variable_of_every_alias(
    path: Path, tapset_file: Path, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is made of arguments that its marks have, at all of their places."""
    tapset = tapset_file.read_text(encoding="utf-8")
    aliases = re.findall(r"^probe (\S+) =\n(?:.*,\n)*.*\n\{\n((?:\t.*\n)+)\}", tapset, re.M)
    assert len(aliases) == tapset.count("\nprobe ")
    optional = set(re.findall(r"^probe (\S+) =\n.* \?$", tapset, re.MULTILINE))
    text = ""
    for name, body in aliases:
        variables = re.findall(r"^\t(\w+) = ", body, re.MULTILINE)
        mark = "?" if name in optional else ""
        text += f"probe {name} {mark} {{ println({', '.join(variables)}) }}\n"
    root = _package(path)
    for name, value in packages.environment(root).items():
        monkeypatch.setenv(name, value)
    made = build(release, ["-p2", "-e", text], tmp_path)
    assert made.status == 0, made.stderr
    assert all(f"/* <- {name}" in made.stdout or name in optional for name, _ in aliases)


# Debian has one version of Python: others are those that this variable names, as paths.
PYTHONS = [Path(word) for word in os.environ.get("STAPY_TEST_PYTHONS", "").split(":") if word]


def _run_by(python: Path, guest: Machine, script: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the command that runs a script by a Python, in the tree of its C library."""
    root = python.parents[2]
    if list(root.glob("lib*/ld-linux-*")):
        tree = f"/run/{python.name}"
        text = f"mkdir -p {tree} && mount --bind {root} {tree} && mount -t tmpfs none {tree}/srv"
        done = guest.run(["sh", "-c", f"{text} && cp {FOLDER}/{script} {tree}/srv"])
        assert done.kind == EXITED and done.status == 0, (done.stdout, done.stderr)
        return f"chroot {tree} /usr/bin/{python.name} -sS /srv/{script}"
    library = python.resolve().parents[1] / "lib"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    return f"env LD_LIBRARY_PATH={library} {python} -sS {FOLDER}/{script}"


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
def test_stacks_of_other_pythons(
    python: Path, guest: Machine, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 3.9 on; before 3.11 code does not know the class that it is in."""
    monkeypatch.setenv("PATH", f"{python.parent}:{os.environ['PATH']}")
    case = read_case(FOLDER / "python_frames.stp")
    case.command = _run_by(python, guest, "told_frames.py", monkeypatch)
    if int(python.name.partition("python3.")[2]) < 11:
        case.expect = [re.sub(r"[\w.<>]+\.(<?\w+>?)(:|\$)", r"\1\2", row) for row in case.expect]
        case.expect = [row.replace("Thread.", "") for row in case.expect]
    made = build(release, case.words(), tmp_path)
    assert made.module, made.stderr
    check_case(case, run_built(guest, made, case.words(), case.timeout))

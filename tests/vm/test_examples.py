"""Every tool of the gallery, with an event that is provoked for it: those of a subject at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.session import examples
from stapy.vm.machine import EXITED, SHARE, Machine
from tests.vm.harness import (
    CONSUMER,
    Builds,
    Case,
    Guests,
    ScriptResult,
    check_case,
    patience,
    run_options,
    told_case,
    tools,
)

pytestmark = [pytest.mark.build, pytest.mark.vm]

FOLDER = Path(__file__).parent / "examples"
GALLERY = {one.name: one for one in examples.gallery()}
SUBJECTS = sorted({one.subject for one in GALLERY.values()})
# What the tools of a subject need in the guest, and how it is taken away.
GROUND = {
    "block": ("modprobe null_blk gb=1 memory_backed=1", "modprobe -r null_blk"),
}


def cases() -> dict[str, Case]:
    """Read what is provoked and expected: a block ``### NAME`` for each tool."""
    found = {}
    for block in (FOLDER / "cases.txt").read_text().split("### ")[1:]:
        name, _, text = block.partition("\n")
        found[name.strip()] = told_case(GALLERY[name.strip()].path, text, FOLDER)
    return found


CASES = cases()


def test_every_tool_has_a_case() -> None:
    assert sorted(CASES) == sorted(GALLERY)
    assert [name for name, case in CASES.items() if not case.expect] == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_tools(subject: str, release: str, guests: Guests, builds: Builds) -> None:
    wanted = [
        case
        for name, case in sorted(CASES.items())
        if GALLERY[name].subject == subject and case.runs_on(release)
    ]
    jobs = [builds.ask(release, case) for case in wanted]
    guest = guests.get(release)
    folder = guest.share / f"examples-{subject}"
    folder.mkdir()
    failed = {}
    for case, job in zip(wanted, jobs, strict=True):
        made = job.result()
        if made.module is None:
            failed[case.path.stem] = made.stderr
            continue
        options = run_options(case.words())
        options.module = guest.push(made.module)
        (folder / f"{case.path.stem}.words").write_text("\0".join(options.words()))
    run(guest, subject, max(case.timeout for case in wanted))
    for case in wanted:
        if case.path.stem in failed:
            continue
        try:
            check_case(case, result(folder, case.path.stem))
        except AssertionError as error:
            failed[case.path.stem] = str(error)
    assert not failed, "\n".join(f"=== {name}\n{why}" for name, why in failed.items())


def run(guest: Machine, subject: str, seconds: float) -> None:
    """Run the sessions of a folder in a guest; check that the kernel is content."""
    before, after = GROUND.get(subject, (":", ":"))
    program = CONSUMER.replace("consume.py", "examples/sessions.py")
    script = (
        f"{tools(guest)}export PYTHONPATH=/run/stapy/lib; cd $(mktemp -d) && {before} &&\n"
        f"{program} {SHARE}/examples-{subject}; status=$?; {after}; exit $status"
    )
    done = guest.run(["/bin/sh", "-c", script], timeout=seconds * patience(guest), cwd="/tmp")
    told = done.stderr.decode() + done.dmesg[-4000:]
    assert done.kind == EXITED, f"{done.kind}, log in {done.log_path}\n{told}"
    assert not done.left_modules, done.left_modules
    assert not done.status, told


def result(folder: Path, name: str) -> ScriptResult:
    """Read how the session of a tool ended."""
    out, err, status = (folder / f"{name}.{ending}" for ending in ("out", "err", "status"))
    return ScriptResult(
        int(status.read_text()), out.read_text(errors="replace"), err.read_text(errors="replace")
    )

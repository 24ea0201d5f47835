"""Every tool of the gallery, with an event that is provoked for it: those of a subject at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.session import examples
from tests.vm import packages
from tests.vm.harness import Builds, Case, Guests, check_case, run_options, told_case
from tests.vm.together import run_together

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
def test_tools(
    subject: str,
    release: str,
    guests: Guests,
    builds: Builds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each prints what its case expects; those of a package that cannot be had are left out."""
    of_subject = [
        case
        for name, case in sorted(CASES.items())
        if GALLERY[name].subject == subject and case.runs_on(release)
    ]
    wanted, roots = packages.at_hand(of_subject)
    if not wanted:
        pytest.skip("no package of these tools can be had")
    for name, value in packages.environment(*roots).items():
        monkeypatch.setenv(name, value)
    jobs = [builds.ask(release, case) for case in wanted]
    guest = guests.get(release)
    failed = {}
    sessions = {}
    for case, job in zip(wanted, jobs, strict=True):
        made = job.result()
        if made.module is None:
            failed[case.path.stem] = made.stderr
            continue
        options = sessions[case.path.stem] = run_options(case.words())
        options.module = guest.push(made.module)
    seconds = max(case.timeout for case in wanted)
    before, after = GROUND.get(subject, (":", ":"))
    ground = (" &&\n".join([before, *(f"{{ {packages.ground(root)}}}" for root in roots)]), after)
    results = run_together(guest, f"examples-{subject}", sessions, seconds, ground)
    for case in wanted:
        if case.path.stem in failed:
            continue
        try:
            check_case(case, results[case.path.stem])
        except AssertionError as error:
            failed[case.path.stem] = str(error)
    assert not failed, "\n".join(f"=== {name}\n{why}" for name, why in failed.items())

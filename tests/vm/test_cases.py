"""Every case file on every installed kernel."""

from __future__ import annotations

import pytest

from tests.vm.harness import Builds, Case, Guests, all_cases, check_case, run_built
from tests.vm.needs import need

CASES = all_cases()

pytestmark = [pytest.mark.build, pytest.mark.vm]


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.path.parent.name}/{case.path.stem}" for case in CASES]
)
def test_case(case: Case, release: str, guests: Guests, builds: Builds) -> None:
    if not case.runs_on(release):
        pytest.skip(f"needs kernel {case.kernel}")
    need(release, *case.needs)
    built = builds.ask(release, case)
    at = CASES.index(case)
    for later in CASES[at + 1 : at + 3]:
        if later.runs_on(release):
            builds.ask(release, later)
    made = built.result()
    if made.module is None:
        assert case.fails, f"passes 1 to 4 failed ({made.status}):\n{made.stderr}\n{made.stdout}"
    guest = guests.get(release, case.cpus)
    check_case(case, run_built(guest, made, case.words(), case.timeout))

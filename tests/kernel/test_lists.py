"""What the dates of signed lists are worth."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from stapy.kernel.lists import age_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DATE = "Date: Sat, 30 May 2026 10:00:00 UTC\n"
OLD = "Date: Wed, 01 Jan 2020 10:00:00 UTC\n"


@pytest.mark.parametrize(
    ("text", "why", "warning"),
    [
        (DATE, "", ""),
        (DATE + "Valid-Until: Sat, 06 Jun 2026 10:00:00 UTC\n", "", ""),
        (DATE + "Valid-Until: Sun, 31 May 2026 10:00:00 UTC\n", "good until 2026-05-31", ""),
        (DATE + "valid-until:Sun, 31 May 2026 10:00:00 UTC\n", "good until 2026-05-31", ""),
        (OLD, "", "is of 2020-01-01"),
        (OLD + "Valid-Until: some day\n", "does not say clearly until when", ""),
        (OLD + "Valid-Until:\n", "does not say clearly until when", ""),
        (OLD + f"Valid-Until: Sat, 06 Jun {'9' * 30} 10:00:00 UTC\n", "does not say clearly", ""),
        ("Date: some day\n", "does not say of when", ""),
        ("Suite: a\n", "does not say of when", ""),
        ("Date: Sat, 06 Jun 2026 10:00:00 UTC\n", "still to come", ""),
        (None, "there is no list of a/b_c", ""),
    ],
)
def test_age(tmp_path: Path, text: str | None, why: str, warning: str) -> None:
    if text is not None:
        (tmp_path / "deb.debian.org_debian_dists_a_b%5fc_InRelease").write_text(text)
    (tmp_path / "deb.debian.org_debian_dists_other_InRelease").write_text(DATE)
    found = age_of("a/b_c", tmp_path, NOW)
    assert why in found.why and bool(why) == bool(found.why)
    assert warning in found.warning and bool(warning) == bool(found.warning)

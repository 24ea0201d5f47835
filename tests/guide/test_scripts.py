"""Every script of the guide is translated, and what is shown as refused is refused."""

from __future__ import annotations

import pytest

from stapy.cli import parse
from stapy.diagnostics import Stop
from stapy.kernel import Kernel, find_kernel
from stapy.options import Options
from stapy.session.messages import PassMessages
from stapy.tools.check import checked
from tests.guide import pages
from tests.vm.harness import releases

pytestmark = pytest.mark.slow
PAGES = ("language.md", "tutorial.md", "cookbook.md", "site/index.md")


def kernel(release: str) -> Kernel:
    """Find an installed kernel."""
    try:
        return find_kernel(release, PassMessages(Options()).diagnostics)
    except Stop:
        pytest.skip(f"no kernel {release}")


def found(block: pages.Block, release: Kernel) -> tuple[bool, str]:
    """Tell whether a script is refused, and what is said of it."""
    options = parse(["--color=never", "-e", "", *block.words])
    outcome = checked(block.place, block.text, release, options)
    return bool(outcome.status(strict=False)), "".join(one.text for one in outcome.messages)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("release", releases() or ["none"])
def test_scripts_are_translated(page: str, release: str) -> None:
    there = kernel(release)
    failed = []
    for block in pages.scripts(page):
        is_refused, told = found(block, there)
        if is_refused != ("refused" in block.marks):
            failed.append(f"{block.place}: {'refused' if is_refused else 'not refused'}\n{told}")
        elif is_refused and block.shown and block.shown.strip() not in told:
            failed.append(f"{block.place}: the page says '{block.shown.strip()}'\n{told}")
    assert not failed, "\n".join(failed)

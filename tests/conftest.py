"""Options of the whole test suite."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from stapy.terminal import progress
from tests import debugpackage
from tests.debuginfo.server import Server, serving
from tests.isolation import isolate

# Before any test module is imported, and with it anything that looks at the environment.
SCRATCH = isolate(debugpackage.CACHE)

# A slow input says that the machine has other work, not that the code is wrong.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew instead of comparing with them",
    )
    parser.addoption(
        "--processor-time",
        action="store_true",
        help="tell what each file took of the processors, emulators included",
    )


def pytest_configure(config: pytest.Config) -> None:
    # The command lives too shortly for the collector and switches it off; a worker holds millions
    # of objects that stay, which it would look through again and again.
    gc.set_threshold(100_000, 20, 50)
    if config.getoption("--processor-time"):
        from tests.processor import Recorder, Table  # for this option only

        config.pluginmanager.register(Recorder())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Table())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that leaves reports of mistakes: a test saw none, or did not look."""
    if not SCRATCH.is_own:
        return
    for text in SCRATCH.reports():
        print(f"\na report of a mistake in stapy was left by a test:\n{text}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    SCRATCH.remove()


@pytest.fixture(autouse=True)
def no_line_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a line of progress, as a process does, and leave none to the next test.

    The next message would erase the line, on whatever is standard error then.
    """
    monkeypatch.setattr(progress._Line, "shown", False)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serve debug files; no other server is known."""
    yield from serving(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def debug_root() -> Path:
    """Return the debug files of a kernel of line 6.1, which take the place of /usr/lib/debug."""
    for release in sorted(path.name for path in Path("/lib/modules").glob("6.1.*-cloud-amd64")):
        try:
            return debugpackage.debug_root(release)
        except debugpackage.NoPackage as error:
            pytest.skip(str(error))
    pytest.skip("no kernel of line 6.1 is installed")


@pytest.fixture(scope="session")
def systemtap_share() -> Path:
    """Return the folder of SystemTap's own tapsets and examples."""
    try:
        return debugpackage.systemtap_share()
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Keep each worker with one kernel and its machines."""
    from tests.schedule import ByKernel  # xdist, which runs without it do not have

    return ByKernel(config, log)

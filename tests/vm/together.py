"""Many sessions at the same time in one guest, as forks of one process that has the consumer."""

from __future__ import annotations

from pathlib import Path

from stapy.run.options import RunOptions
from stapy.vm.machine import EXITED, SHARE, Machine
from tests.vm.harness import CONSUMER, ScriptResult, patience, tools


def run_together(
    guest: Machine,
    name: str,
    sessions: dict[str, RunOptions],
    seconds: float,
    ground: tuple[str, str] = (":", ":"),
) -> dict[str, ScriptResult]:
    """Run sessions in a guest; check that the kernel is content.

    ``name`` is that of a fresh folder; ``ground`` are commands before and after all of them.
    """
    folder = guest.share / name
    folder.mkdir()
    for key, options in sessions.items():
        (folder / f"{key}.words").write_text("\0".join(options.words()))
    before, after = ground
    program = CONSUMER.replace("consume.py", "examples/sessions.py")
    script = (
        f"{tools(guest)}export PYTHONPATH=/run/stapy/lib; cd $(mktemp -d) && {before} &&\n"
        f"{program} {SHARE}/{name}; status=$?; {after}; exit $status"
    )
    done = guest.run(["/bin/sh", "-c", script], timeout=seconds * patience(guest), cwd="/tmp")
    told = done.stderr.decode() + done.dmesg[-4000:]
    assert done.kind == EXITED, f"{done.kind}, log in {done.log_path}\n{told}"
    results = {key: _result(folder, key) for key in sessions}
    assert not done.left_modules, f"{done.left_modules}\n{results}\n{told}"
    assert not done.status, told
    return results


def _result(folder: Path, key: str) -> ScriptResult:
    """Read how a session ended."""
    out, err, status = (folder / f"{key}.{ending}" for ending in ("out", "err", "status"))
    said = [file.read_text(errors="replace") if file.exists() else "" for file in (out, err)]
    return ScriptResult(int(status.read_text()) if status.exists() else -1, *said)

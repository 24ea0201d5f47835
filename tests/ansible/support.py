"""Ansible's programs with our collection, and nothing of this user's configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = "import sys; from ansible.cli.{0} import main; sys.argv[0] = 'ansible-{0}'; main()"


def environment(folder: Path) -> dict[str, str]:
    """Make the variables with which Ansible finds our collection, as it is here."""
    place = folder / "collections/ansible_collections/stapy/tracer"
    if not place.exists():
        place.parent.mkdir(parents=True)
        place.symlink_to(ROOT / "ansible")
    (folder / "ansible.cfg").touch()
    own = {
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_COLLECTIONS_PATHS": str(folder / "collections"),  # its name of old
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return {**kept, **own}


def call(
    program: str, words: list[str], folder: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's programs (doc, galaxy, playbook) in a folder."""
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(program), *words],
        cwd=folder,
        env={**environment(folder), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )


def play(
    folder: Path,
    plays: list[dict[str, Any]],
    inventory: dict[str, dict[str, Any]],
    *words: str,
    variables: dict[str, str] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Run plays on hosts; each host's results of tasks, in their order."""
    (folder / "play.yml").write_text(json.dumps(plays))
    hosts = {"all": {"hosts": inventory}}
    (folder / "hosts.json").write_text(json.dumps(hosts))
    more = {
        **(variables or {}),
        "ANSIBLE_STDOUT_CALLBACK": "results",
        "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callback"),
    }
    done = call("playbook", ["-i", "hosts.json", "play.yml", *words], folder, **more)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in inventory}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            results[row["host"]].append({**row["result"], "task": row["task"]})
    assert any(results.values()), done.stdout + done.stderr
    return results

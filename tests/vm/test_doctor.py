"""``stapy doctor`` in a kernel that runs scripts: nothing is bad there."""

from __future__ import annotations

import json

import pytest

from stapy.vm.machine import Machine
from tests.program import stapy_command
from tests.vm.harness import ROOT

pytestmark = pytest.mark.vm

FINE = ("privilege", "modules", "lockdown", "signing", "kprobes", "uprobes", "headers", "compiler",
        "programs", "packages", "btf", "tracefs", "cache")  # fmt: skip


def test_in_a_guest(guest: Machine, release: str) -> None:
    environment = {"HOME": "/tmp", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    words = stapy_command("doctor", "--message-format=json")
    result = guest.run(words, env=environment, cwd=str(ROOT), timeout=1200)
    assert result.status == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["kernel"], found["running"], found["verdict"]) == (release, True, "runs")
    rows = {row["name"]: row for row in found["checks"]}
    assert {name: rows[name]["text"] for name in FINE if rows[name]["state"] != "ok"} == {}
    assert rows["tracefs"]["text"] == "/sys/kernel/tracing"
    assert rows["btf"]["text"].endswith("/sys/kernel/btf/vmlinux")

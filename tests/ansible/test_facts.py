"""stapy_facts beside what stapy itself finds, over file trees that are made."""

from __future__ import annotations

import importlib.util
import os
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("ansible.release", reason="ansible-core is not installed")

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.kernel.config import Config
from stapy.kernel.host import HostFiles
from tests.ansible.support import ROOT, play

RELEASE = os.uname().release
LOADS = {
    "proc/modules": "x 1 0 - Live 0x0\n",
    "proc/sys/kernel/modules_disabled": "0\n",
    "proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
    "proc/kallsyms": "0 T register_kprobe\n0 T uprobe_register\n",
    "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "sys/module/module/parameters/sig_enforce": "N\n",
}
# Files that differ, and the names of the obstacles that they are.
OBSTACLES: list[tuple[dict[str, str | None], list[str]]] = [
    ({}, []),
    ({"proc/self/status": "CapEff:\t0000000000000000\n"}, ["privilege"]),
    ({"proc/self/status": "CapEff:\t0000000000010000\n"}, []),
    ({"proc/sys/kernel/modules_disabled": "1\n"}, ["modules"]),
    ({"proc/sys/kernel/modules_disabled": None, "proc/modules": None}, ["modules"]),
    ({"sys/kernel/security/lockdown": "none [integrity] confidentiality\n"}, ["lockdown"]),
    ({"sys/kernel/security/lockdown": None}, []),
    ({"sys/module/module/parameters/sig_enforce": "Y\n"}, ["signing"]),
    ({"proc/kallsyms": "0 T other\n"}, ["kprobes"]),
    ({"proc/kallsyms": None}, []),
    ({"sys/module/module/parameters/sig_enforce": "Y\n",
      "sys/kernel/security/lockdown": "none integrity [confidentiality]\n"},
     ["lockdown", "signing"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def plugin() -> ModuleType:
    path = ROOT / "ansible/plugins/modules/stapy_facts.py"
    spec = importlib.util.spec_from_file_location("stapy_facts", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lay(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)


@pytest.mark.parametrize(("files", "wanted"), OBSTACLES)
def test_obstacles(
    plugin: ModuleType, tmp_path: Path, files: dict[str, str | None], wanted: list[str]
) -> None:
    lay(tmp_path, {**LOADS, **files})
    facts = plugin.Host(str(tmp_path)).facts()
    assert [one["name"] for one in facts["obstacles"]] == wanted
    assert facts["can_load"] == (not wanted)
    assert facts["can_load_signed"] == (not set(wanted) - {"lockdown", "signing"})


@pytest.mark.parametrize(("files", "wanted"), OBSTACLES)
def test_stapy_finds_the_same(
    tmp_path: Path, files: dict[str, str | None], wanted: list[str]
) -> None:
    lay(tmp_path, {**LOADS, **files})
    tree = tmp_path / "lib/modules" / RELEASE
    tree.mkdir(parents=True)
    kernel = find_kernel(RELEASE, Diagnostics(SourceMap()), str(tmp_path))
    kernel.is_running, kernel.config = True, Config([])  # not that of this machine
    verdicts = HostFiles(tmp_path).verdicts(kernel)
    found = [name for name, why in verdicts.items() if why and name not in ("headers", "kernel")]
    assert found == wanted


def test_what_else_is_told(plugin: ModuleType, tmp_path: Path) -> None:
    lay(tmp_path, LOADS)
    host = plugin.Host(str(tmp_path), RELEASE)
    bare: dict[str, Any] = host.facts()
    nothing = {"build_id": "", "compiler": "", "secure_boot": None, "btf": False, "headers": "",
               "debuginfo": "", "tracefs": "", "uprobes": True, "release": RELEASE}  # fmt: skip
    assert {name: bare[name] for name in nothing} == nothing
    other = struct.pack("=III", 6, 5, 1) + b"Xen\0\0\0\0\0" + b"12345\0\0\0"
    note = struct.pack("=III", 4, 4, 3) + b"GNU\0" + bytes.fromhex("00a1b2c3")
    lay(tmp_path, {
        f"boot/config-{RELEASE}": 'CONFIG_CC_VERSION_TEXT="gcc 12"\nCONFIG_MODULE_SIG_FORCE=y\n',
        f"lib/modules/{RELEASE}/build/Makefile": "",
        "usr/lib/debug/.build-id/00/a1b2c3.debug": "",
        "sys/kernel/btf/vmlinux": "",
        "sys/kernel/tracing/events/enable": "",
    })  # fmt: skip
    (tmp_path / "sys/kernel/notes").write_bytes(other + note)
    variables = tmp_path / "sys/firmware/efi/efivars"
    variables.mkdir(parents=True)
    (variables / "SecureBoot-8be4df61").write_bytes(b"\6\0\0\0\1")
    full = plugin.Host(str(tmp_path), RELEASE).facts()
    wanted = {"build_id": "00a1b2c3", "compiler": "gcc 12", "secure_boot": True, "btf": True,
              "headers": f"/lib/modules/{RELEASE}/build", "tracefs": "/sys/kernel/tracing",
              "debuginfo": "/usr/lib/debug/.build-id/00/a1b2c3.debug",
              "signatures_enforced": True, "kprobes": True}  # fmt: skip
    assert {name: full[name] for name in wanted} == wanted
    (tmp_path / "sys/kernel/notes").write_bytes(note[:-2])  # cut: no error
    assert len(plugin.Host(str(tmp_path), RELEASE).build_id()) <= 8


@pytest.mark.slow
def test_as_a_task(tmp_path: Path) -> None:
    tasks = [{"stapy.tracer.stapy_facts": {}}]
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    plays = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    ((result,),) = play(tmp_path, plays, {"h": local}, "--check").values()
    assert result["how"] == "ok" and not result["changed"]
    assert result["ansible_facts"]["stapy"]["release"] == RELEASE

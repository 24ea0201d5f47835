"""The collection as Ansible sees it: it is packed, installed, and its plugins are described."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.release", reason="ansible-core is not installed")

import yaml

from stapy import __version__
from stapy.run.render import FORMATS
from tests.ansible.support import ROOT, call

COLLECTION = ROOT / "ansible"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))


def documentation(name: str) -> dict[str, Any]:
    text = (COLLECTION / f"plugins/modules/{name}.py").read_text()
    found = re.search(r'^DOCUMENTATION = r"""\n(.*?)^"""', text, re.M | re.S)
    assert found
    loaded: dict[str, Any] = yaml.safe_load(found[1])
    return loaded


def test_versions_agree() -> None:
    galaxy = yaml.safe_load((COLLECTION / "galaxy.yml").read_text())
    assert galaxy["version"] == __version__
    bound = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["requires_ansible"]
    assert (
        f"ansible-core {bound.replace('.0', '')}".replace(">=", ">= ")
        in (ROOT / "setup.cfg").read_text()
    )


def arguments() -> Any:
    """Read what the action plugin takes, without Ansible's loader of collections."""
    tree = ast.parse((COLLECTION / "plugins/action/stapy_run.py").read_text())
    (value,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "ARGUMENTS"
    )
    assert value is not None
    return ast.literal_eval(value)


def test_documented_options_are_those_that_are_taken() -> None:
    told = documentation("stapy_run")["options"]
    spec = {
        name: {key: value for key, value in option.items() if key != "description"}
        for name, option in told.items()
    }
    assert spec == arguments()
    assert set(told["format"]["choices"]) == set(FORMATS)


def test_role_hands_on_what_it_takes() -> None:
    role = COLLECTION / "roles/trace"
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())
    options = specs["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    assert {name: option["default"] for name, option in options.items()} == defaults
    tasks = (role / "tasks/main.yml").read_text()
    assert [name for name in options if name not in tasks] == []
    module = documentation("stapy_run")["options"]
    assert options["trace_format"]["choices"] == module["format"]["choices"]


@pytest.mark.slow
def test_packed_installed_described(tmp_path: Path) -> None:
    done = call("galaxy", ["collection", "build", str(COLLECTION)], tmp_path)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    into = tmp_path / "installed"
    words = ["collection", "install", str(archive), "-p", str(into), "--offline"]
    found = {"ANSIBLE_COLLECTIONS_PATH": str(into), "ANSIBLE_COLLECTIONS_PATHS": str(into)}
    done = call("galaxy", words, tmp_path, **found)
    assert done.returncode == 0, done.stderr
    names = {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()}
    assert not [name for name in names if "__pycache__" in name]
    full = [f"stapy.tracer.{name}" for name in MODULES]
    done = call("doc", ["-j", *full], tmp_path, **found)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for name in full:
        assert told[name]["doc"]["short_description"]
        assert "stapy.tracer." in told[name]["examples"] and told[name]["return"]
        text = call("doc", [name], tmp_path, **found)
        assert text.returncode == 0 and not re.search(r"\b[A-Z]+\(\w", text.stdout), text.stdout
    done = call("doc", ["-t", "role", "-j", "stapy.tracer.trace"], tmp_path, **found)
    assert done.returncode == 0, done.stderr
    assert "trace_script" in done.stdout
    done = call("playbook", ["--syntax-check", "stapy.tracer.trace", "-i", "h,"], tmp_path, **found)
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_are_plain_enough_for_hosts() -> None:
    """Python 3.9 compiles what is sent to hosts: no newer syntax."""
    for name in MODULES:
        text = (COLLECTION / f"plugins/modules/{name}.py").read_text()
        ast.parse(text, feature_version=(3, 9))

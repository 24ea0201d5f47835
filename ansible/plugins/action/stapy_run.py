"""stapy_run on the controller: build what the host needs, send it, have it run."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.stapy.tracer.plugins.plugin_utils.build import (
    Builder,
    BuildError,
    Request,
)

MODULE = "stapy.tracer.stapy_run"
# As in the documentation of the module; a test compares them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "script": {"type": "path"},
    "text": {"type": "str"},
    "module": {"type": "path"},
    "remote_src": {"type": "bool", "default": False},
    "arguments": {"type": "list", "elements": "str", "default": []},
    "options": {"type": "list", "elements": "str", "default": []},
    "globals": {"type": "dict", "default": {}},
    "guru": {"type": "bool", "default": False},
    "format": {"type": "str", "choices": ["text", "json", "csv", "folded"], "default": "text"},
    "command": {"type": "str"},
    "target": {"type": "int"},
    "timeout": {"type": "float", "default": 10.0},
    "grace": {"type": "float", "default": 60.0},
    "output_limit": {"type": "int", "default": 16},
    "dest": {"type": "path"},
    "build_in": {"type": "str"},
    "stapy": {"type": "str", "default": "stapy"},
}
_RELEASE = re.compile(r"[0-9][\w.+~-]*\Z", re.ASCII)
_ARCH = re.compile(r"\w+\Z", re.ASCII)
SOURCES = ("script", "text", "module")
BUILDING = ("arguments", "options", "guru", "build_in")  # nothing of these is left in a module


class ActionModule(ActionBase):
    """The controller's side of one host."""

    TRANSFERS_FILES = True
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Do the task for one host; what is returned is documented with the module."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(
            ARGUMENTS, mutually_exclusive=[SOURCES], required_one_of=[SOURCES]
        )
        why = _nonsense(given)
        if why:
            return {**result, "failed": True, "msg": why}
        try:
            return {**result, **self._work(given, task_vars)}
        except BuildError as error:
            return {**result, "failed": True, "msg": str(error), "stderr": error.stderr}

    def _work(self, given: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        shared = constants.DEFAULT_LOCAL_TMP  # of this command; ansible removes it at its end
        builder = Builder(shlex.split(given["stapy"]), shared, self._loader.get_basedir())
        facts = self._ask()
        runner = builder.runner()
        facts["changed"] = given["guru"] or given["command"] is not None
        path = given["module"] if given["remote_src"] else self._module(given, facts, builder)
        facts["module"] = Path(path).stem
        if self._task.check_mode:
            what = "not loaded in check mode" if given["module"] else "made, not run in check mode"
            return {**facts, "msg": f"{facts['module']}.ko is {what}"}
        there = self._send([runner] if given["remote_src"] else [runner, path])
        arguments = {
            "_runner": there[0],
            "_module": path if given["remote_src"] else there[1],
            "_options": _options(given),
            "_values": [f"{name}={value}" for name, value in _globals(given)],
            "_copies": there,
            "_patience": [given["timeout"] + given["grace"], given["grace"]],
            "_limit": given["output_limit"] << 20,
        }
        done = self._execute_module(MODULE, module_args=arguments, task_vars=task_vars)
        done.pop("invocation", None)
        if given["dest"] and "stdout" in done:
            self._leave(given["dest"], done["stdout"])
        return _judged({**facts, **done}, given)

    def _leave(self, dest: str, text: str) -> None:
        """Write what was printed to a file of the controller."""
        path = Path(self._loader.path_dwim(dest))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise BuildError(f"cannot write '{path}': {error.strerror}") from None

    def _ask(self) -> dict[str, Any]:
        """Ask the host which kernel it runs now; facts may be older than its last boot."""
        done = self._low_level_execute_command("uname -r && uname -m", sudoable=False)
        lines = done["stdout"].splitlines()[-2:]
        # A path, or an option, would have stapy take something of the controller for the kernel.
        if done["rc"] or len(lines) < 2 or not (_RELEASE.match(lines[0]) and _ARCH.match(lines[1])):
            raise BuildError("the host does not say which kernel it runs", done["stderr"])
        return {"release": lines[0], "arch": lines[1]}

    def _module(self, given: dict[str, Any], facts: dict[str, Any], builder: Builder) -> str:
        """Find or build the module that is sent."""
        if given["module"]:
            return self._find(given["module"])
        here = os.uname().machine
        if facts["arch"] != here:
            raise BuildError(f"the host is a {facts['arch']}; modules are made for {here} only")
        options = [*given["options"], *(["-g"] if given["guru"] else [])]
        options += [f"--build-in={given['build_in']}"] if given["build_in"] else []
        options += [f"--format={given['format']}"] if given["format"] != "text" else []
        options += ["-c", given["command"]] if given["command"] is not None else []
        options += ["-x", str(given["target"])] if given["target"] else []
        request = Request(
            facts["release"],
            facts["arch"],
            self._find(given["script"]) if given["script"] else "",
            given["text"] or "",
            tuple(options),
            tuple(given["arguments"]),
            tuple(sorted(_globals(given))),
        )
        return builder.module(request, str(self._task._uuid))

    def _find(self, name: str) -> str:
        """Find a file of the role or the playbook."""
        try:
            return str(self._find_needle("files", name))
        except AnsibleError as error:
            raise BuildError(str(error)) from None

    def _send(self, paths: list[str]) -> list[str]:
        """Copy files into the folder that ansible has made for this task on the host."""
        shell = self._connection._shell
        folder = shell.tmpdir or self._make_tmp_path()
        there = [shell.join_path(folder, Path(path).name) for path in paths]
        for path, place in zip(paths, there):
            self._transfer_file(path, place)
        self._fixup_perms2([folder, *there])
        return there


def _nonsense(given: dict[str, Any]) -> str:
    """Say which options do not go together, "" when all do."""
    if given["remote_src"] and not given["module"]:
        return "remote_src goes with module: scripts are built on the controller"
    if given["module"]:
        extra = [name for name in BUILDING if given[name]]
        if extra:
            return f"{', '.join(extra)}: the module is built already"
    for name in ("timeout", "grace", "output_limit"):
        if not 0 < given[name] < math.inf:
            return f"{name} must be above 0" + (", and finite" if given[name] > 0 else "")
    for name, value in given["globals"].items():
        if not str(name).isidentifier():
            return f"globals: '{name}' is no name of a global"
        if not isinstance(value, (int, str)):
            return f"globals: {name} is neither a number nor a text"
    try:
        words = shlex.split(given["stapy"])
    except ValueError as error:
        return f"stapy: {error}"
    return "" if words else "stapy: no program is named"


def _globals(given: dict[str, Any]) -> list[tuple[str, str]]:
    """List names and values as stapy takes them, which has no truth values but 1 and 0."""
    pairs = given["globals"].items()
    return [(str(name), str(int(one) if isinstance(one, bool) else one)) for name, one in pairs]


def _options(given: dict[str, Any]) -> list[str]:
    """List the options of stapy-run."""
    words = ["-T", str(given["timeout"])]
    words += ["-c", given["command"]] if given["command"] is not None else []
    words += ["-x", str(given["target"])] if given["target"] else []
    return words + ([f"--format={given['format']}"] if given["format"] != "text" else [])


def _judged(result: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Add the records that the output has; what is behind the last line feed is none."""
    if given["format"] == "json" and "stdout" in result:
        lines = result["stdout"].split("\n")[:-1]
        try:
            result["records"] = [json.loads(line) for line in lines]
        except ValueError as error:
            result.update(failed=True, msg=f"the output has a line that is no record: {error}")
    return result

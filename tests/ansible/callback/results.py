"""What tasks end with, an object on each line, for the tests."""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: results
type: stdout
short_description: results as lines of JSON
description: Prints the result of each task of each host as a line of JSON.
"""


class CallbackModule(CallbackBase):
    """Print each result."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "results"

    def _row(self, result: Any, how: str) -> None:
        row = {
            "host": result._host.get_name(),
            "task": result._task.get_name(),
            "result": {**json.loads(self._dump_results(result._result)), "how": how},
        }
        print(json.dumps(row), flush=True)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Tell a task that went well."""
        self._row(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Tell a task that has failed."""
        self._row(result, "failed")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Tell a task that was skipped."""
        self._row(result, "skipped")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Tell a host that cannot be reached."""
        self._row(result, "unreachable")

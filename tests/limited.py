"""Run a module of Python with a limit of resources: ``-m tests.limited NAME VALUE MODULE …``.

What was set before an interpreter starts would keep that from starting.
"""

from __future__ import annotations

import resource
import runpy
import sys


def main() -> None:
    name, value, module = sys.argv[1:4]
    which = getattr(resource, f"RLIMIT_{name.upper()}")
    resource.setrlimit(which, (int(value), int(value)))
    sys.argv = sys.argv[3:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

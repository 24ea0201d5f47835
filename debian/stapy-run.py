#!/usr/bin/python3
"""The program `stapy-run` of the package of this name."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "/usr/share/stapy-run")

from stapy_run.cli import start  # noqa: E402

start()

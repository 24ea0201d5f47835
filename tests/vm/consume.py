"""The program ``stapy-run`` as a script: in a guest, each import that is spared saves time."""

import os
import sys

# The parts of Python's library that it needs, in the guest's memory (`tests.vm.harness.tools`):
# each file that the host is asked for costs the emulator milliseconds.
sys.path[0] = "/run/stapy/tools/python"

from stapy.run.cli import start  # noqa: E402

# What a test has running beside shall compete with the session, not with Python's start, which
# `tests.vm.harness.CONSUMER` has put before all else.
os.setpriority(os.PRIO_PROCESS, 0, 0)
start()

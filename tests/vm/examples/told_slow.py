"""Takes a while to import, and imports another."""

import time

import told_inner  # type: ignore[import-not-found]

time.sleep(0.3)
assert told_inner

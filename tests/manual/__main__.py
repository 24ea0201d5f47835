"""``python -m tests.manual``: lists what the comments of tapsets lack; a part of ``make lint``."""

from __future__ import annotations

import sys

from stapy.manual.library import open_reference
from tests import commandline
from tests.manual.comments import problems

commandline.read("python -m tests.manual", __doc__, sys.argv[1:])

found = list(problems(open_reference()))
for line in found:
    print(f"tapsets/{line}")
sys.exit(bool(found))

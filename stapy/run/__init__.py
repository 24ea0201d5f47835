"""The consumer: loads a module, moves its output, unloads it.

Standard library only, Python 3.9, nothing of stapy outside this folder, so
that it can be copied to a machine that has nothing but Python.  `typing` is for
the type checker only (``TYPE_CHECKING``): to import it takes longer than all else.
"""

import sys

# Before all else, and in words that older ones can read.
if sys.version_info < (3, 9):
    sys.exit("ERROR: stapy-run needs Python 3.9 or newer, this is %d.%d" % sys.version_info[:2])

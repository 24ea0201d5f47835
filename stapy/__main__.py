"""``python -m stapy`` is the ``stapy`` command."""

import sys

from stapy.cli import main

sys.exit(main())

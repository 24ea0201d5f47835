"""``stapy --explain CODE``."""

from __future__ import annotations

import sys

from stapy.explain import page, unknown
from stapy.writing import write


def explain(code: str) -> int:
    """Print the page of a code; the exit status."""
    text = page(code)
    if text is None:
        print(unknown(code), file=sys.stderr)
        return 1
    write(text)
    return 0

"""Regular expressions that few commands use: to compile one takes as long as to import a module."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def compiled_when_used(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that returns the compiled pattern, which it compiles once."""
    return cache(lambda: re.compile(pattern, flags))

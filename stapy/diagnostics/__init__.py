"""Messages to the user: values (`model`), their drawing, hints, and a page for each code."""

from stapy.diagnostics.model import (
    NOWHERE,
    Bug,
    Diagnostic,
    Diagnostics,
    Label,
    Source,
    SourceMap,
    Span,
    Stop,
    used_at,
)

__all__ = [
    "NOWHERE",
    "Bug",
    "Diagnostic",
    "Diagnostics",
    "Label",
    "Source",
    "SourceMap",
    "Span",
    "Stop",
    "used_at",
]

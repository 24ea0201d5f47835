"""stapy: a SystemTap-compatible tracer."""

__version__ = "0.1.0"

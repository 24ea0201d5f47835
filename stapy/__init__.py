"""stapy: a SystemTap-compatible tracer."""

__version__ = "0.1.0"

# The version of SystemTap whose language is spoken; --compatible lowers it.
LANGUAGE_VERSION = "5.6"

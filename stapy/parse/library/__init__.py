"""The tapset library: which files belong to it, which names they define, their trees."""

from stapy.parse.library.library import Library, open_library

__all__ = ["Library", "open_library"]

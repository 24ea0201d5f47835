"""What was made before: files by what they depend on (`store`), whole runs (`results`)."""

from stapy.cache.store import Cache, file_identity, files_below, key_of, own_state

__all__ = ["Cache", "file_identity", "files_below", "key_of", "own_state"]

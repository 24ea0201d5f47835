"""Is imported."""

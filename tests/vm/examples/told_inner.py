"""Is imported by told_slow."""

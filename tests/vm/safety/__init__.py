"""What scripts, users and kills must never do to the machine."""

"""Every probe family on every kernel that can be had: what ``docs/wall.md`` shows."""

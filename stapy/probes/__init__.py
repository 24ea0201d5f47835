"""Kinds of probes: what a point means, what its handler can ask, which rows the runtime gets."""

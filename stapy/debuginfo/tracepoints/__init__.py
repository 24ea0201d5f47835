"""Tracepoints by pattern, and the systems that they belong to."""

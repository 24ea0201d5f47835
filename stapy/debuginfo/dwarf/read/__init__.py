"""The sections of one file: units, entries, lines, ranges, expressions, frames, types."""

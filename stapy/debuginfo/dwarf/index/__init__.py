"""The fast walk over all entries of a file, and the flat arrays that keep its result."""

"""Where variables are that DWARF describes, as expressions of the handler."""

"""Tables of symbols: that of an image, of a module, of the running kernel."""

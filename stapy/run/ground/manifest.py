"""What a module and the `stapy-run` that meets it must agree on, before it is loaded."""

# The ELF section with what stapy wrote into a module.
SECTION = ".stapy.manifest"

# The language of a loaded module and its consumer: messages and commands of `control`, records of
# `output`, answers of `ioctl`.  It is one more with each change of any of them: a module is kept
# and run later, elsewhere, by a stapy-run of another age.
PROTOCOL = 2

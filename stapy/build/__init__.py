"""Pass 4: from C to a kernel module.

`stapy.build.driver.build` is the entry; the way is described in
docs/decisions/build-kit.md.
"""

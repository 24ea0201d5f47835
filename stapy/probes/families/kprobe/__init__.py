"""Kernel functions, statements and addresses: the family ``kprobe``, from point to row.

``site`` < ``places`` < ``ground`` < ``dwarf_points`` < ``functions``, which has the family.
"""

from stapy.probes.families.kprobe.functions import FAMILY

__all__ = ["FAMILY"]

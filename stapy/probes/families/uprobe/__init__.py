"""Places in user programs: the family ``uprobe``, from point to row.

``site`` < ``ground``, ``stubs`` < ``functions``, which has the family.
"""

from stapy.probes.families.uprobe.functions import FAMILY

__all__ = ["FAMILY"]

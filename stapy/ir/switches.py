"""The switches of a monitor: arming conditions on elements of a global of its script."""

from __future__ import annotations

from stapy.ir import program as p
from stapy.ir.walk import walk

MONITOR = "<monitor>"  # the name of its script
NAMES = "__monitor_"  # what its names begin with: no other script has them
OFF = NAMES + "off"  # the array: what is in it is switched off


def switch_of(condition: p.Condition | None) -> int:
    """Return the number of the switch that a condition looks at, 0 for none."""
    if condition is None:
        return 0
    for node in walk(condition.test):
        if isinstance(node, p.ElementRef) and node.var.name == OFF:
            key = node.keys[0]
            return key.value if isinstance(key, p.Const) else 0
    return 0

"""The small interface behind which every kind of probe lives.

A family is one module in this package, one template
``templates/probes/<name>.c.j2``, one header ``runtime/probes/<name>.h`` and one
test ``tests/probes/test_<name>.py``.  The registry in ``__init__`` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.elaborate.targets import TargetScope
    from stapy.parse.nodes import ProbePoint


class Form(Record):
    """One spelling that a family accepts, for matching, `-l` and --dump-probe-types.

    ``components`` are names with the kind of their argument: ``("kernel", "")``,
    ``("function", "string")``, ``("s", "number")``, ``("function", "string|number")``.
    """

    components: list[tuple[str, str]]

    def __str__(self) -> str:
        return ".".join(
            name + (f"({kind})" if kind else "") for name, kind in self.components
        )


class Match(Record):
    """What resolving one point gave: one site and the point as it will be printed."""

    point: str
    site: Any


class Family(Protocol):
    """What pass 2 and pass 3 ask of a kind of probe."""

    name: str
    forms: list[Form]

    def resolve(self, point: ProbePoint, services: Any) -> list[Match]:
        """All places that a point (without wildcards in its component names) means.

        An empty list means "no match"; the caller reports it.  `services` is
        the `Services` record of ``stapy/elaborate/services.py`` (kernel facts,
        debug information, diagnostics).
        """

    def scope(self, site: Any, services: Any) -> TargetScope | None:
        """The context variables at a site; None when the family has none."""

    def rows(self, probe: Any, first_site: int) -> list[dict[str, Any]]:
        """Rows of the family's table for ``templates/probes/<name>.c.j2``."""


__all__ = ["Family", "Form", "Match", "new"]

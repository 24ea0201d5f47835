"""What is said of a probe point that is none: what could stand in its place."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from stapy.diagnostics.habits import FAMILIES
from stapy.diagnostics.suggest import nearest
from stapy.elaborate.names import interpreted
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.elaborate.names.pointtree import Mismatch
    from stapy.probes.family import PointError

    # From a point and names behind it to the pattern by which -l shows these, "" for none.
    Lists = Callable[[list[n.PointComponent], list[str]], str]

# What SystemTap's users may write, and must not take for their own mistake.
NOT_YET = {"input", "nfs", "nfsd"}
NOT_YET_OF_PROCESSES = {"insn"}


_EXAMPLES = {"string": '"NAME"', "number": "5"}  # the first that a name takes is shown
_FEW = 16  # names that a message can hold
# Modifiers, and the name that they stand behind.
_BEHIND = {"maxactive": "return"}


def explain(error: PointError, mismatch: Mismatch, above: str, lists: Lists) -> None:
    """Say what could stand where nothing matched."""
    component = mismatch.component
    if mismatch.kinds:
        wanted = " or ".join(f"a {k} argument" if k else "no argument" for k in mismatch.kinds)
        error.notes = [f"'{component.name}' takes {wanted}"]
        point = f"{above}.{component.name}" if above else component.name
        example = next((text for kind, text in _EXAMPLES.items() if kind in mismatch.kinds), "")
        error.hint = f"such as {point}({example})" if example else f"write {point}"
        return
    # Names that begin so are for the library's own use, and no user means them.
    names = [name for name in mismatch.candidates if not name.startswith("__")]
    if not names:
        return
    if not above and component.name in interpreted.REFUSED:
        reason, error.hint = interpreted.REFUSED[component.name]
        error.notes = [reason]
        return
    if not above and component.name in NOT_YET:
        error.notes = [f"SystemTap's {component.name} probes are not in this version of stapy"]
        return
    if above.partition("(")[0] == "process" and component.name in NOT_YET_OF_PROCESSES:
        what = f"process.{component.name}"
        error.notes = [f"SystemTap's {what} probes are not in this version of stapy"]
        return
    if above == "python" and component.name == "module":
        error.hint = 'did you mean python3.module("M").function("F")?'
        return
    if ".library(" in above and component.name == "data":
        error.notes = ["where a library lies is not known before a process has loaded it"]
        error.hint = "process(PID).data(ADDRESS) watches memory where it lies in a process"
        return
    under = f" under '{above}'" if above else ""
    if any(char in component.name for char in "*?["):
        matching = sorted(name for name in names if fnmatchcase(name, component.name))
        shown = ", ".join((matching or sorted(names))[:12])
        shown += ", …" if len(matching or names) > 12 else ""
        if matching:
            what = f"of the names{under} that match none is a whole probe point: {shown}"
            pattern = lists(mismatch.parent, matching) if mismatch.parent else ""
            error.hint = f"stapy -l '{pattern}' lists what lies below them" if pattern else ""
        else:
            what = f"no name{under} matches '{component.name}': there are {shown}"
        error.notes = [what]
        return
    if mismatch.ends_early:
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        error.notes = [f"the point goes on behind '{above}': {shown}"]
        return
    error.notes = _known_names(component.name, names, mismatch.parent, under, lists)

    behind = _BEHIND.get(component.name)
    if behind in names:
        error.hint = f"{component.name} stands behind {behind}: .{behind}.{component.name}(…)"
        return
    near = nearest(component.name, names, 3)
    if not above and component.name in FAMILIES:
        near = [FAMILIES[component.name]]
    if near:
        error.hint = "did you mean " + " or ".join(f"'{word}'" for word in near) + "?"


def explain_suffix(
    error: PointError, mismatch: Mismatch, above: str, follows: list[str], lacking: list[str]
) -> None:
    """Say what may follow an alias, of which ``follows`` was tried, where a suffix does not.

    ``lacking`` would follow it if there was debug information.
    """
    component = mismatch.component
    if mismatch.kinds and component.name in follows:
        error.notes = [f"'{component.name}' takes no argument"]
        error.hint = f"write {above}.{component.name}"
        return
    if not follows and not lacking:
        error.notes = [f"nothing may follow '{above}'"]
        return
    error.notes = [f"behind '{above}' may stand: {', '.join(follows)}"] if follows else []
    if lacking:
        what = f"behind '{above}' may stand with debug information, which is not here"
        error.notes.append(f"{what}: {', '.join(lacking)}")
    behind = _BEHIND.get(component.name)
    near = nearest(component.name, [*follows, *lacking], 1)
    if behind in follows:
        error.hint = f"{component.name} stands behind {behind}: .{behind}.{component.name}(…)"
    elif near:
        error.hint = f"did you mean '{near[0]}'?"


def _known_names(
    word: str, names: list[str], parent: list[n.PointComponent], under: str, lists: Lists
) -> list[str]:
    """List what could stand in a place, as notes: the names, or the command that lists them."""
    if len(names) == 1:
        return [f"'{names[0]}' is the only name{under}"]
    note = f"'{word}' is not one of the {len(names)} names{under}"
    if len(names) <= _FEW:
        return [f"{note}: {', '.join(names)}"]
    if not parent:
        return [note, "stapy --dump-probe-types and stapy --dump-probe-aliases list them"]
    pattern = lists(parent, names)
    return [note, f"stapy -l '{pattern}' lists them"] if pattern else [note]

"""Probes with their handlers, and the whole program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.diagnostics import NOWHERE, Span
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.lookup.line_pack import LineTable
    from stapy.ir.program.nodes import Stmt
    from stapy.ir.program.statements import Condition, Lock
    from stapy.ir.program.symbols import Function, Global, Variable
    from stapy.ir.program.types import Type


class Handler(Record):
    """One distinct body; equal bodies are one Handler.

    ``locks`` are held as long as the body runs, or each of its `Locked` parts;
    ``conditions`` are those that read a global which the body changes.  One that
    ``rechecks_condition`` has a condition of its own that reads one of these globals: it is
    looked at once more when they are held.
    """

    c_name: str
    locals: list[Variable]
    body: Stmt
    locks: list[Lock] = new(list)
    span: Span = NOWHERE
    conditions: list[Condition] = new(list)
    rechecks_condition: bool = False


class DerivedProbe(Record):
    """One probe that will be registered, or a batch of equal ones.

    ``family`` names the module in ``stapy/probes``; ``sites`` are that
    family's records, one for each place (a wildcard gives many with one
    handler); ``points`` the resolved point of each site as ``pp()`` prints it;
    ``written`` is what the script says, ``alias`` what ``pn()`` prints;
    ``chain`` the alias names from the script's point down to the resolved one.
    ``entry`` is the handler that runs at function entry of a return probe and
    fills ``slots`` (types of the saved values).
    """

    family: str
    sites: list[Any]
    points: list[str]
    written: str
    alias: str
    chain: list[str]
    handler: Handler
    condition: Condition | None = None
    entry: Handler | None = None
    slots: list[Type] = new(list)
    span: Span = NOWHERE


# Pieces of the runtime: /* pragma:user_stacks */ in embedded C.
USER_STACKS = "user_stacks"  # frames of user programs
USER_NAMES = "user_names"  # and names of their functions
USER_LINES = "user_lines"  # and source lines


class Program(Record):
    """Everything that pass 3 needs.

    ``features`` are pieces of runtime that this program uses: "backtrace",
    "symbols", "regex", "stats", "gettimeofday", …
    """

    globals: list[Global]
    functions: list[Function]
    handlers: list[Handler]
    probes: list[DerivedProbe]
    embedded: list[str]
    features: set[str]
    nesting: int  # deepest call chain, or the bound for recursion
    conditions: list[Condition] = new(list)
    # What the module takes along of the kernel and of modules with probes.
    release: str = ""
    arch: str = ""
    build_ids: dict[str, str] = new(dict)
    line_tables: list[LineTable] = new(list)

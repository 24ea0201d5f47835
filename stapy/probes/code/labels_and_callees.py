"""Points inside of functions: labels, functions that a function calls, plain addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.debuginfo.dwarf.query import addresses, callees, labels
from stapy.debuginfo.dwarf.query.spec import Spec, parse
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.probes.code.ground import address_of
from stapy.probes.family import Match, PointError, number_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite
    from stapy.parse.nodes import PointComponent
    from stapy.probes.code.ground import Ground

MAX_DEPTH = 32  # frames that the runtime looks at
_MATCH_ALL = "STAP_CALLEE_MATCHALL"
_SHOWN = 8  # names in a message


def resolve(ground: Ground, files: list[DwarfFile]) -> list[Match]:
    """Find the places of ``.label``, ``.callee``, ``.callees`` and addresses, or `PointError`."""
    result, found = _Matches(ground), ground.found
    try:
        if "statement" in found:
            failure = _statement(result, found["statement"], files)
        elif number_of(found["function"]) is not None:
            failure = _function_at(result, found["function"], files)
        else:
            spec = _spec(found["function"])
            how = _labels if "label" in found else _callees
            failure = how(result, spec, files)
    except DebuginfoError as error:
        notes = [str(error)]
        raise PointError("E0231", "no match", ground.point.span, notes=notes) from None
    return result.checked(failure)


def _spec(component: PointComponent) -> Spec:
    text = text_of(component)
    spec = parse(text)
    if spec is None or spec.lines is not None:
        message = f"malformed specification '{text}'"
        hint = "write name or name@file: a line has no labels and calls nothing"
        raise PointError("E0231", message, component.span, hint=hint)
    return spec


def _nothing(
    component: PointComponent, note: str, names: Callable[[], Iterable[str]], untold: str = ""
) -> PointError:
    """Make the error for no match; names are only looked up when it is shown.

    ``untold`` says why there may be none.
    """

    def explain(error: PointError) -> None:
        known = sorted(set(names()))
        near = nearest(text_of(component), known, 2)
        if near:
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?"
        elif known:
            more = " …" if len(known) > _SHOWN else ""
            error.notes = [*error.notes, f"there are {', '.join(known[:_SHOWN])}{more}"]
        elif untold:
            error.notes = [*error.notes, untold]

    return PointError("E0231", "no match", component.span, notes=[note], explain=explain)


class _Matches:
    """Collects places that may be probed."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.found = ground.found
        self._seen: set[tuple[object, str, str]] = set()
        self.matches: list[Match] = []
        self.refused = ""

    def add(self, place: CodePlace, texts: dict[str, str], callers: Any = None) -> None:
        """Add a place; ``texts`` are printed for the components of those names."""
        self.add_site(self.ground.site_at(place), texts, callers)

    def add_site(self, site: FunctionSite, texts: dict[str, str], callers: Any = None) -> None:
        """Add a site, known to DWARF or not; ``texts`` are printed for its components."""
        made = self.ground.match(site, texts, callers)
        where = (site.name, site.module) if site.place is None else site.place.address
        key = where, made.point, str(callers or [])
        if key in self._seen:
            return
        self._seen.add(key)
        why = self.ground.refusal(site)
        if why:
            self.refused = f"'{site.name}' must not be probed: {why}"
            return
        self.matches.append(made)

    def checked(self, otherwise: PointError) -> list[Match]:
        """Return all matches; raise ``otherwise`` when there are none."""
        if not self.matches:
            if self.refused:
                otherwise.notes = [self.refused]
                otherwise.hint = self.ground.refusal_hint(self.refused)
                otherwise.explain = None
            raise otherwise
        return self.matches


def _no_function(result: _Matches, spec: Spec, files: list[DwarfFile]) -> PointError | None:
    """Make the error for a pattern that names no function with code; None if it does."""
    if any(any(True for _ in f.index.functions(spec.function, spec.file)) for f in files):
        return None
    name = f"{spec.function}@{spec.file}" if spec.file else spec.function
    component = result.found["function"]

    def explain(error: PointError) -> None:
        near = result.ground.similar(spec.function)
        if near:
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?"

    notes = [f"no function with code matches '{name}'"]
    return PointError("E0231", "no match", component.span, notes=notes, explain=explain)


# --- labels -------------------------------------------------------------------


def _labels(result: _Matches, spec: Spec, files: list[DwarfFile]) -> PointError:
    component = result.found["label"]
    pattern = text_of(component)
    for file in files:
        for label in labels.labels(file, spec, pattern):
            texts = {
                "function": f"function({quote_name(result.ground.written(label.place))})",
                "label": f"label({quote_name(label.name)})",
            }
            result.add(label.place, texts)

    def names() -> Iterable[str]:
        return (label.name for file in files for label in labels.labels(file, spec, "*"))

    note = f"no code was kept at a label '{pattern}' of '{spec.function}'"
    return _no_function(result, spec, files) or _nothing(component, note, names)


# --- callees ------------------------------------------------------------------


def _callees(result: _Matches, spec: Spec, files: list[DwarfFile]) -> PointError:
    found = result.found
    component = found.get("callee") or found["callees"]
    depth = _depth(component)
    wanted = _spec(component) if "callee" in found else Spec("*")
    everything = _MATCH_ALL in result.ground.services.options.defines
    only_calls = any(name in found for name in ("call", "return"))
    for file in files:
        for call in _calls(result, file, spec, wanted, depth, everything, component):
            place = call.place
            if place is not None and place.inlined and only_calls:
                continue
            target = quote_name(result.ground.written(place) if place is not None else call.name)
            function = f"function({quote_name(result.ground.written(call.caller))})"
            callee = f"callee({target})"
            texts = {"function": function, "callee": callee, "callees": callee}
            if file.module is not None:
                texts["module"] = f"module({quote_name(file.module)})"
            frames = [] if everything else result.ground.frames(call)
            if frames is None:
                continue
            if place is not None:
                result.add(place, texts, frames)
                continue
            site = result.ground.outside(call)
            if site is not None:
                result.add_site(site, texts, frames)

    def names() -> Iterable[str]:
        everyone = Spec("*")
        calls = (_calls(result, f, spec, everyone, 1, everything, component) for f in files)
        return (call.name for found in calls for call in found)

    note = f"'{spec.function}' has no call of '{wanted.function}' that comes back to it"
    if only_calls:
        note += " and is not inlined"
    untold = "no call in it is known: compilers write calls down with -O1 and more"
    return _no_function(result, spec, files) or _nothing(component, note, names, untold)


def _calls(
    result: _Matches,
    file: DwarfFile,
    spec: Spec,
    wanted: Spec,
    depth: int,
    with_tail_calls: bool,
    component: PointComponent,
) -> list[callees.Callee]:
    elsewhere = result.ground.elsewhere
    try:
        return callees.callees(
            file, spec, wanted, depth, with_tail_calls=with_tail_calls, elsewhere=elsewhere
        )
    except callees.TooManyCallees as error:
        hint = f"ask for fewer levels than {depth}"
        raise PointError("E0231", str(error), component.span, hint=hint) from None


def _depth(component: PointComponent) -> int:
    depth = number_of(component)
    if depth is None:
        return 1
    if not 1 <= depth <= MAX_DEPTH:
        message = f"depth of callees out of range [1,{MAX_DEPTH}]"
        raise PointError("E0212", message, component.span)
    return depth


# --- addresses ----------------------------------------------------------------


def _statement(result: _Matches, component: PointComponent, files: list[DwarfFile]) -> PointError:
    address = address_of(component)
    nearest = "nearest" in result.found
    failure: PointError | None = None
    for file in files:
        statement = addresses.statement_at(file, address + file.code_start)
        if statement is None:
            continue
        start = statement.start - file.code_start
        if start == address or nearest:
            result.add(statement.place, {})
            continue
        where = result.ground.written(statement.place)
        message = f"address {address:#x} does not match the beginning of a statement"
        failure = PointError(
            "E0231",
            f"{message} (try {start:#x})",
            component.span,
            notes=[f"{start:#x} is where '{where}' begins"],
            hint="write that address, or add .nearest",
        )
    return failure or result.ground.no_code(component)


def _function_at(result: _Matches, component: PointComponent, files: list[DwarfFile]) -> PointError:
    address = address_of(component)
    outside = any(name in result.found for name in ("call", "return", "exported"))
    failure: PointError | None = None
    for file in files:
        place = addresses.function_at(file, address + file.code_start, inlined=not outside)
        if place is None:
            continue
        site = result.ground.site_at(place)
        if "exported" in result.found and not result.ground.exports(site):
            failure = result.ground.not_exported(component, place.function)
            continue
        entry = f"function({place.address - file.code_start:#x})"
        result.add(place, {"function": entry})
    return failure or result.ground.no_code(component)

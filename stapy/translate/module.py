"""Everything of pass 3 put together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.ir import program as p
from stapy.options import Options
from stapy.paths import data_dir
from stapy.translate import defines
from stapy.translate.c.text import string_literal
from stapy.translate.manifest import make_manifest
from stapy.translate.model import build
from stapy.translate.source import ModuleSource
from stapy.translate.state import Unit, number_lines
from stapy.translate.tables import lines
from stapy.translate.tables.limits import ELSEWHERE, STRING_BYTES
from stapy.translate.tables.records import pieces_of
from stapy.translate.templating import Templates

if TYPE_CHECKING:
    from stapy.translate.manifest import Manifest, ProgramFile, TableDemand


def make_source(
    program: p.Program, options: Options, diagnostics: Diagnostics, name: str
) -> ModuleSource:
    """Make the C file and the manifest of a program; raise `Stop` when there was an error."""
    unit = Unit(program, options, diagnostics)
    _check_limits(unit, options, diagnostics)
    script = script_source(diagnostics.sources)
    script_name, script_text = script if script is not None else ("", "")
    model = build(unit, name, script_name, program.build_ids)
    model["modinfo"] = [
        {"name": field, "value": string_literal(value)} for field, value in options.modinfo
    ]
    table = ""
    if unit.records:
        table = unit.records.text(options.format, script_name, program, unit.places, unit.limits)
    model["records"] = [{"text": string_literal(part)} for part in pieces_of(table)]
    model["has_records"] = bool(table)
    model["lines"], blobs = lines.tables(program)
    model["has_lines"] = bool(model["lines"])
    if diagnostics.errors:
        raise Stop
    file = f"{name}.c"
    templates = Templates(cache=_cache(options))
    for family in model["families"]:
        family["table"] = templates.render("rows.c.j2", family)
    text = number_lines(templates.render("module.c.j2", model), file)
    runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
    others = unit.limits.others()
    macros = {row["name"]: row["value"] for row in others if row["name"] not in ELSEWHERE}
    defines.check(macros, text, file, runtime, diagnostics)
    if diagnostics.errors:
        raise Stop
    return ModuleSource(
        name=name,
        files={file: text},
        manifest=_manifest(unit, options, name, script_name, script_text),
        features=set(program.features),
        kbuild_flags=list(options.kbuild_flags),
        blobs=blobs,
    )


def _check_limits(unit: Unit, options: Options, diagnostics: Diagnostics) -> None:
    """Report values of -D that limits cannot have; `Stop` where nothing can be made with one."""
    bad = unit.limits.bad()
    for macro in bad:
        diagnostics.error(
            "semantic error",
            "E0290",
            f"-D {macro}={options.defines.get(macro, '')}: not a constant number",
            hint=f"write a number, as in -D {macro}=100",
        )
    for macro, room in unit.limits.misfits():
        diagnostics.error(
            "semantic error",
            "E0290",
            f"-D {macro}={options.defines.get(macro, '')}: takes {room[0]} to {room[-1]}",
        )
    if unit.limits.never_rests:
        diagnostics.error(
            "semantic error",
            "E0290",
            "-D STP_OVERLOAD_INTERVAL=0: --on-overload=throttle lets a probe rest for its share of"
            " an interval, which has no length",
        )
    if unit.limits.string_room not in STRING_BYTES:
        diagnostics.error(
            "semantic error",
            "E0290",
            f"-D MAXSTRINGLEN={options.defines.get('MAXSTRINGLEN', '')}: "
            f"strings take {STRING_BYTES[0]} to {STRING_BYTES[-1]} bytes",
        )
        raise Stop


def _manifest(
    unit: Unit, options: Options, name: str, script_name: str, script_text: str
) -> Manifest:
    program = unit.program
    return make_manifest(
        name=name,
        script_name=script_name,
        script_text=script_text,
        release=program.release,
        arch=program.arch,
        probes=[
            {
                "written": probe.written,
                "points": list(probe.points),
                "place": unit.places.where(probe.span),
            }
            for probe in program.probes
        ],
        limits=unit.limits.numbers(),
        any_release="STP_NO_VERREL_CHECK" in options.defines,
        build_ids=program.build_ids,
        files=_files(program, unit),
        privilege=options.privilege,
        namespaces=options.namespaces,
        process=options.namespaces_of,
        objects=_objects(program, options),
        input=_input(program),
        globals={
            var.name: str(var.type)
            for var in program.globals
            if var.settable and not var.keys and var.type != p.STATS
        },
    )


def _files(program: p.Program, unit: Unit) -> dict[str, ProgramFile]:
    """Collect the programs that points and variables name: may one be missing, and its build."""
    found: dict[str, ProgramFile] = {}
    for probe in program.probes:
        for site in probe.sites:
            for path, identity in getattr(site, "user_files", {}).items():
                row = found.setdefault(path, {"optional": True})
                row["optional"] = row["optional"] and site.optional
                if identity:
                    row["identity"] = identity
    for (path, _), (_, identity) in unit.mapped_files.items():
        found[path] = {"optional": False, "identity": identity}
    return found


def _input(program: p.Program) -> str:
    """Tell how the script wants standard input, "lines" or "keys"; "" when it does not."""
    found = ""
    for probe in program.probes:
        if any(getattr(site, "is_stdin", False) for site in probe.sites):
            has_lines = any("input.line" in name for name in probe.chain)
            found = "lines" if has_lines and found != "keys" else "keys"
    return found


def _objects(program: p.Program, options: Options) -> TableDemand | None:
    """Tell the consumer which tables the script's user stacks need; None when it asks for none."""
    if p.USER_STACKS not in program.features:
        return None
    return {
        "names": p.USER_NAMES in program.features,
        "lines": p.USER_LINES in program.features,
        "files": [str(Path(name).absolute()) for name in options.debug_modules if "/" in name],
        "closure": options.ldd,
    }


def script_source(sources: SourceMap) -> tuple[str, str] | None:
    """Return name and text of the user's script: the first text that nobody else brought in."""
    for source in sources.sources:
        if not source.is_library and source.parent is None:
            return source.name, source.text
    return None


def _cache(options: Options) -> Cache:
    return Cache.of(options)

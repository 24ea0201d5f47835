"""Pass 5, here or in a virtual machine."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo.user import processes
from stapy.run.elf import ModuleFile
from stapy.run.options import RunOptions
from stapy.session import plotting
from stapy.session.quiet import leads_away, prints_nothing
from stapy.session.started import warn_of_other
from stapy.terminal import progress
from stapy.timing import PassTimer

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.session import Session


def boot_ahead(session: Session) -> None:
    """Let the virtual machine boot while the module is made."""
    from stapy.vm.errors import VmError
    from stapy.vm.session import prepare

    options = session.options
    try:
        session.machine = prepare(options.vm_release, options.sysroot, options.architecture)
    except VmError as error:
        session.at_pass = 5
        session.refuse("E0590", str(error), kind="run error", hint=error.hint)


WIDE = 1000  # places; to arm fewer takes no time that anybody notices
SOON = 1.0  # seconds that a note may take


def tell_width(session: Session, module: Path) -> None:
    """Say on a terminal how many places are to be probed, when they are many, and the cost."""
    if not progress.on_terminal() or session.options.suppress_warnings:
        return
    manifest = ModuleFile(str(module)).manifest()
    places = sum(len(probe.get("points", ())) for probe in manifest.get("probes", ()))
    if places < WIDE:
        return
    session.note(
        f"{places:,} places are probed: some 2 % of a processor for each 100,000 hits in a "
        "second, and more when the handler does much; Ctrl-C ends it"
    )
    options = session.options
    programs = [path for path, row in (manifest.get("files") or {}).items() if row.get("identity")]
    if programs and not (options.command or options.target or options.vm):
        session.note(f"{_who_runs(programs)}, and those to come; -c or -x probes one alone")


def warn_of_mixing(session: Session) -> None:
    """Warn that what -c prints will stand between the lines that a program is to read."""
    options = session.options
    command = options.command
    if command is None or options.output or options.is_for_plot or options.format in ("", "text"):
        return
    if not command.strip() or prints_nothing(command) or leads_away(command) or _is_shown():
        return
    session.warn_here(
        "W0688",
        f"what the command of -c prints goes between the lines of --format={options.format}",
        hint="-o FILE has these alone; '>&2' or '>/dev/null' in the command leads its own away",
    )


def _is_shown() -> bool:
    """Tell whether a person reads standard output."""
    try:
        return os.isatty(1)
    except OSError:
        return False


def _who_runs(programs: list[str]) -> str:
    """Say which processes would be hit: how many, as far as that can be told soon."""
    count, at_least = 0, ""
    try:
        if any(path.startswith("/proc/") for path in programs):
            raise PermissionError  # of another mount namespace, where the path is another one
        for _ in processes.that_map(programs, SOON):
            count += 1
    except OSError:
        if not count:
            return "all processes that run these programs would be hit"
        at_least = "at least "
    return f"{at_least}{count} process{'' if count == 1 else 'es'} here would be hit"


def load(session: Session, module: Path, kernel: Kernel) -> int:
    """Pass 5, here or in a virtual machine."""
    session.at_pass = 5
    gc.enable()
    timer = PassTimer()
    options = session.options
    tell_width(session, module)
    warn_of_other(session, module)
    warn_of_mixing(session)
    wanted = run_options(session, module)
    session.verbose("starting run.")
    sys.stdout.flush()
    if options.vm:
        from stapy.vm.errors import VmError
        from stapy.vm.session import prepare, run_module

        progress.tell(f"booting {kernel.release}")
        try:
            machine = session.machine or prepare(
                options.vm_release, options.sysroot, options.architecture
            )
            status = run_module(str(module), machine, wanted)
        except VmError as error:
            session.refuse("E0590", str(error), kind="run error", hint=error.hint)
    else:
        status = _run_here(str(module), wanted)
    session.verbose(f"run completed in {timer.spent()}.")
    if options.plot:
        plotting.draw(session, status)
    if status:
        session.tell_failed()
    return status


def _run_here(module: str, wanted: RunOptions) -> int:
    """Run a module in this process, or as a member of the groups through sudo."""
    from stapy.run import sudo

    if sudo.is_needed():
        return sudo.run_apart(wanted.words())
    from stapy.run.consumer import run

    return run(module, wanted)


def run_options(session: Session, module: Path) -> RunOptions:
    """Say what stapy-run is told, here, in a machine or on another host."""
    options = session.options
    # What concerns the files of this host is not done on another one.
    output = None if options.elsewhere else options.output
    return RunOptions(
        module=str(module),
        parameters=_parameters(session, module),
        command=None if options.effect else options.command,
        effect=options.effect,
        effect_runs=options.effect_runs,
        target=options.target or 0,
        output=output,
        rotate=(options.rotate or "") if output else "",
        timeout=options.timeout,
        warnings=not options.suppress_warnings,
        verbose=max(options.verbose[4] - 1, 0),  # -v alone is for what wrappers read
        color=options.color,
        detach=options.flight_recorder and options.output is None,
        daemon=options.flight_recorder and options.output is not None,
        monitor=options.monitor,
        metrics=options.metrics_at,
        format="text" if options.is_for_plot else options.format,
        record=str(plotting.place_of_record(session)) if options.plot else None,
        message_format="json" if options.message_format == "json" else "text",
        width=_width(options),
    )


def _width(options: Options) -> int | None:
    """Return the columns for histograms; who reads SystemTap's messages compares its pictures."""
    if options.width is None and options.message_format == "systemtap":
        return 0
    return options.width


def _parameters(session: Session, module: Path) -> list[str]:
    """List what -G sets; pass 2 has warned of names that the program does not have."""
    wanted = session.options.globals
    known = set(ModuleFile(str(module)).parameters) if wanted else set()
    return [f"{name}={value}" for name, value in wanted.items() if name in known]

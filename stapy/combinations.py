"""Options that contradict each other, or say nothing together: refused before anything is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.options.option import MissingScriptError, UsageError
from stapy.options.setters import HostsFile

if TYPE_CHECKING:
    from stapy.options import Options

_OF_ALL_MACHINES = 2  # process 1 and the kernel's first thread


def check(options: Options) -> None:
    """Raise `UsageError` for combinations that contradict each other."""
    if options.prepare and not options.build_in:
        raise UsageError("--prepare makes the image of --build-in, which is not given.")
    if options.explain or options.clean_cache:
        return
    if options.doc is not None:
        return _check_doc(options)
    _check_remote(options)
    if options.interactive:
        _check_interactive(options)
    if options.dump or options.language_server:
        return
    if options.prepare:
        return
    if options.show and not (options.example and options.script_file):
        raise UsageError("--show prints the script of --example NAME, which is not given.")
    if options.example and options.script_file is None and options.script_text is None:
        return
    has_script = options.script_file is not None or options.script_text is not None
    if not (has_script or options.interactive) and options.listing is None:
        more = " -E adds to a script: -e is the option for one." if options.extra_scripts else ""
        raise MissingScriptError(f"A script must be specified. Try 'stapy --help'.{more}")
    if options.listing is not None and options.script_text is not None:
        raise UsageError("-l and -L take a probe point, not a script.")
    if options.listing is not None and options.listing.lstrip().startswith("-"):
        raise UsageError(
            f"-l and -L take a probe point, and '{options.listing}' is none: "
            "options stand before them, as in 'stapy -v -L POINT'."
        )
    if options.command is not None and options.target is not None:
        raise UsageError("You can't specify both -c and -x options.")
    if options.output == "":
        raise UsageError("-o needs the name of a file.")
    if options.rotate is not None:
        _check_rotation(options)
    if options.privilege != "stapdev":
        _check_privilege(options)
    unlimited = (
        options.suppress_time_limits or "STAP_SUPPRESS_TIME_LIMITS_ENABLE" in options.defines
    )
    if unlimited and not options.guru:
        raise UsageError("--suppress-time-limits requires guru mode (-g).")
    if options.on_overload != "exit":
        _check_overload(options, unlimited)
    if options.flight_recorder:
        _check_recorder(options)
    _check_plot(options)
    if options.format:
        _check_format(options)
    if options.snapshots:
        _check_snapshots(options)
    if options.width:
        _check_width(options)
    if options.metrics:
        _check_metrics(options)
    if options.effect or options.effect_runs:
        _check_effect(options)
    if options.vm and options.monitor and options.last_pass == 5:
        raise UsageError("--monitor cannot be given with --vm, whose machine has no terminal.")
    if options.vm and _is_bulk(options) and options.last_pass == 5:
        raise UsageError("-b cannot be given with --vm: its files would end with the machine.")
    if options.vm and (options.target or 0) > _OF_ALL_MACHINES and options.last_pass == 5:
        raise UsageError(
            f"-x {options.target} cannot be given with --vm, whose machine has processes of its "
            "own: -c COMMAND starts one there."
        )
    if options.vm and options.release:
        raise UsageError("--vm=RELEASE names the kernel; -r cannot be given too.")


def _check_interactive(options: Options) -> None:
    """Refuse what is answered and has an end, and a script where the shell's commands come from."""
    for is_given, name in (
        (options.listing is not None, "-l and -L"),
        (options.dump, "--dump-…"),
        (options.language_server, "--language-server"),
        (options.prepare, "--prepare"),
        (options.example, "--example"),
    ):
        if is_given:
            raise UsageError(f"{name} cannot be given with -i, whose commands ask and run.")
    if options.script_file == "-":
        raise UsageError("-i reads its commands from standard input, where '-' is the script.")


def _check_overload(options: Options, unlimited: bool) -> None:
    """Refuse to say what follows an overload where nothing counts as one."""
    for name in ("STP_NO_OVERLOAD", "STAP_NO_OVERLOAD"):
        if name in options.defines:
            raise UsageError(f"--on-overload cannot be given with -D {name}: nothing is one.")
    if unlimited:
        raise UsageError("--on-overload cannot be given with --suppress-time-limits.")


def _check_format(options: Options) -> None:
    """Refuse what makes no sense of output for programs."""
    if _is_bulk(options):
        raise UsageError("--format cannot be given with -b, whose files are text for stapy-merge.")
    if options.monitor:
        raise UsageError("--format cannot be given with --monitor, which shows text.")
    if options.remote_prefix:
        raise UsageError("--remote-prefix is for text: records of --format say their host.")
    if options.format == "csv" and options.rotate:
        raise UsageError("-S cannot be given with --format=csv: only its first file has headers.")
    if options.format == "csv" and len(options.remotes) > 1:
        raise UsageError("--format=csv is for one host: each would have headers of its own.")


def _check_width(options: Options) -> None:
    """Refuse a width where pictures have one for good."""
    for is_given, name, why in (
        ("HIST_WIDTH" in options.defines, "-D HIST_WIDTH", "which is how long bars are"),
        (_is_bulk(options), "-b", "whose files are text for stapy-merge"),
        (options.format or options.plot, "--format or --plot", "which are for programs"),
    ):
        if is_given:
            raise UsageError(f"--width cannot be given with {name}, {why}.")


def _check_snapshots(options: Options) -> None:
    """Refuse snapshots that nothing would tell."""
    if options.format != "json" or options.is_for_plot:
        raise UsageError("--snapshots is for --format=json, whose records tell globals.")
    if not options.autoprint:
        raise UsageError("--snapshots cannot be given with --no-global-var-display.")
    if options.flight_recorder and options.output is None:
        raise UsageError(
            "--snapshots cannot be given with -F without -o: they would fill the memory that keeps "
            "the latest output."
        )


def _check_plot(options: Options) -> None:
    """Refuse a plot of nothing; have the module record what is to be drawn."""
    if options.plot is None:
        return
    from stapy.plot import files
    from stapy.plot.errors import PlotError

    for is_given, name, why in (
        (options.listing is not None, "-l and -L", "they run no script"),
        (options.last_pass < 5, f"-p{options.last_pass}", "it runs no script"),
        (_is_bulk(options), "-b", "whose files are text for stapy-merge"),
        (options.monitor, "--monitor", "which shows what there is while the script runs"),
        (options.flight_recorder, "-F", "which leaves nobody to draw: --format=json -o FILE.jsonl "
         "records, 'stapy plot FILE.jsonl' draws it"),
        (options.remotes, "--remote", "--format=json -o FILE.jsonl records what all hosts tell, "
         "'stapy plot FILE.jsonl' draws it"),
    ):  # fmt: skip
        if is_given:
            raise UsageError(f"--plot cannot be given with {name}: {why}.")
    try:
        files.check(options.plot)
    except PlotError as error:
        raise UsageError(f"--plot: {error}") from None
    if not options.format:
        options.format, options.is_for_plot = "json", True


def _check_metrics(options: Options) -> None:
    """Refuse what is no address, and places that nobody could reach."""
    from stapy.run.metrics import parse

    try:
        parse(options.metrics_at)
    except ValueError as error:
        raise UsageError(f"Invalid value '{options.metrics_at}' for --metrics: {error}.") from None
    if options.vm and options.last_pass == 5:
        raise UsageError("--metrics cannot be given with --vm, whose machine has no network.")
    if options.flight_recorder and options.output is None and options.last_pass == 5:
        raise UsageError(
            "--metrics cannot be given with -F without -o, which leaves nobody to serve them."
        )


def _check_effect(options: Options) -> None:
    """Refuse what shows something else than a comparison, or ends a session before its time."""
    if not options.effect:
        raise UsageError("--probe-effect-runs needs a command: --probe-effect CMD.")
    for is_given, name in (
        (options.command is not None, "-c"),
        (options.target is not None, "-x"),
        (options.output is not None, "-o"),
        (options.timeout is not None, "-T"),
        (options.monitor, "--monitor"),
        (options.metrics, "--metrics"),
        (options.plot is not None, "--plot"),
        (options.format, "--format"),
        (options.flight_recorder, "-F"),
        (_is_bulk(options), "-b"),
        (options.remotes, "--remote"),
    ):
        if is_given:
            raise UsageError(f"{name} cannot be given with --probe-effect, which compares times.")
    options.command = options.effect  # whose program `process` means


def _check_doc(options: Options) -> None:
    """Refuse a question without a name, and one beside a script."""
    if not options.doc:
        raise UsageError("--doc needs a name: --doc execname, --doc 'task_*'.")
    if options.script_file or options.script_text is not None or options.listing is not None:
        raise UsageError("--doc takes a name and no script; what has blanks stands in quotes.")


def _check_remote(options: Options) -> None:
    """Refuse names that are no hosts, and options that make no sense on other hosts."""
    if not options.remotes:
        if options.remote_prefix:
            options.notices.append(
                "--remote-prefix has no effect: there is no --remote whose number could be told"
            )
        return
    from stapy.remote import hosts

    try:
        options.remotes = [
            uri
            for given in options.remotes
            for uri in (hosts.read_file(given) if isinstance(given, HostsFile) else [given])
        ]
        found = [hosts.parse(uri) for uri in options.remotes]
    except hosts.HostError as error:
        raise UsageError(str(error)) from None
    if len(found) == 1 and found[0].is_direct and not options.remote_prefix:
        options.remotes = []  # this very host: a command like any other
        return
    for is_given, name, why in (
        (options.vm, "--vm", "its machine is one of this host"),
        (options.release, "-r", "each host says what its kernel is"),
        (options.prepare, "--prepare", "-r RELEASE names the kernel"),
        (options.listing is not None or options.dump, "-l, -L or --dump-…",
         "-r RELEASE names the kernel"),
        (options.language_server, "--language-server", "it runs no script"),
        (options.flight_recorder, "-F", "a session ends with its connection"),
        (options.namespaces, "--target-namespaces", "the process is one of this host"),
        (_is_bulk(options), "-b", "files of processors would stay there"),
    ):  # fmt: skip
        if is_given:
            raise UsageError(f"{name} cannot be given with --remote: {why}.")
    if options.all_modules:
        options.all_modules = False  # a host's kernel may be that of this machine
        options.notices.append(
            "--all-modules has no effect with --remote, for it means those that are loaded here: "
            "-d MODULE names one"
        )


def _is_bulk(options: Options) -> bool:
    return options.bulk or "STP_BULKMODE" in options.defines


def _check_privilege(options: Options) -> None:
    """Raise `UsageError` for options that let C into a script that is to be safe for others."""
    level = options.privilege
    if options.guru:
        raise UsageError(f"You can't specify -g and --privilege={level} together.")
    if options.monitor and level == "stapusr":
        raise UsageError(f"You can't specify --monitor when --privilege={level} is specified.")
    if options.metrics and level == "stapusr":
        raise UsageError(f"You can't specify --metrics when --privilege={level} is specified.")
    if options.kbuild_flags:
        raise UsageError(f"You can't specify -B when --privilege={level} is specified.")
    from stapy.translate.tables.limits import is_harmless

    for name, value in options.defines.items():
        if not is_harmless(name, value):
            raise UsageError(f"You can't specify -D {name} when --privilege={level} is specified.")


def _check_rotation(options: Options) -> None:
    from stapy.run import options as run

    try:
        run.check(run.RunOptions(output=options.output, rotate=options.rotate or " "))
    except run.UsageError as error:
        raise UsageError(str(error)) from None


def _check_recorder(options: Options) -> None:
    if options.vm:
        raise UsageError("-F cannot be given with --vm: the machine ends with the command.")
    if options.command is not None and options.output is None:
        raise UsageError("-F without -o leaves no process that could wait for the command of -c.")

"""Everything a command line can say, as one record that all passes may read.

``stapy/cli/`` fills it; the meaning of each option is in its table there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.run.ground.manifest import ProcessIdentity


class Options(Record):
    """Defaults are SystemTap's."""

    script_file: str | None = None  # "-" for standard input
    script_text: str | None = None  # -e
    extra_scripts: list[str] = new(list)  # -E
    arguments: list[str] = new(list)  # $1 @1 …
    listing: str | None = None  # -l or -L pattern
    listing_variables: bool = False  # -L
    dump: str = ""  # "probe-types", "probe-aliases", "functions"
    last_pass: int = 5  # -p
    verbose: list[int] = new(lambda: [0, 0, 0, 0, 0])  # per pass, -v and --vp
    keep: bool = False  # -k
    tmpdir: str | None = None
    guru: bool = False  # -g
    unoptimized: bool = False  # -u
    suppress_warnings: bool = False  # -w
    warnings_are_errors: bool = False  # -W
    prologue_search: bool = False  # -P
    timing: bool = False  # -t
    format: str = ""  # --format: json, …; "" for text
    snapshots: int = 0  # --snapshots: milliseconds between two
    plot: str | None = None  # --plot: the picture that is drawn at the end
    is_for_plot: bool = False  # what --format stands for is recorded only: text is printed
    metrics: bool = False  # --metrics: the module tells all globals
    metrics_at: str = ""  # the address at which they are served
    on_overload: str = "exit"  # --on-overload: exit, throttle or disarm
    monitor: int = 0  # --monitor: seconds between two looks; 0: none
    buffer_mb: int | None = None  # -s
    tapset_dirs: list[str] = new(list)  # -I
    defines: dict[str, str] = new(dict)  # -D NAME=VALUE
    globals: dict[str, str] = new(dict)  # -G NAME=VALUE
    modinfo: list[tuple[str, str]] = new(list)  # --modinfo NAME=VALUE
    kbuild_flags: list[str] = new(list)  # -B
    architecture: str = ""  # -a, in SystemTap's spelling; "" for that of the kernel
    architecture_by: str = ""  # the option that said so
    cross_compile: str = ""  # -B CROSS_COMPILE=: what the names of the compiler begin with
    runtime_dir: str | None = None  # -R
    release: str | None = None  # -r: release or build tree
    build_in: str = ""  # --build-in: auto, debian:SUITE or an image
    prepare: bool = False  # --prepare
    sysroot: str | None = None  # --sysroot: where the kernel of -r and its debug files are
    module_name: str | None = None  # -m
    debug_modules: list[str] = new(list)  # -d: modules, and paths of programs
    ldd: bool = False  # --ldd: also the libraries of those programs
    all_modules: bool = False  # --all-modules
    output: str | None = None  # -o
    command: str | None = None  # -c
    effect: str = ""  # --probe-effect: a command
    effect_runs: int = 0  # --probe-effect-runs; 0: as many as stapy-run does
    target: int | None = None  # -x
    namespaces: int | None = None  # --target-namespaces: of which process
    # What tells that process from another one of its number, see `stapy.run.inside`.
    namespaces_of: ProcessIdentity | None = None
    tree: str = ""  # the file tree of the guest of --vm, where that is not ours
    timeout: float | None = None  # -T seconds
    rotate: str | None = None  # -S
    flight_recorder: bool = False  # -F
    bulk: bool = False  # -b
    compatible: str = ""  # --compatible
    check_version: bool = False  # --check-version
    language_server: bool = False  # --language-server
    interactive: bool = False  # -i
    rlimits: dict[str, int] = new(dict)  # --rlimit-NAME
    sign: str | None = None  # --sign-module: the key's file, "" for this user's own key
    example: bool = False  # --example
    show: bool = False  # --show
    message_format: str = ""  # --message-format; "" leaves it to the environment
    trace_passes: bool = False  # --trace-passes
    notices: list[str] = new(list)  # what a given option does not do here
    privilege: str = "stapdev"
    privilege_set: bool = False
    skip_badvars: bool = False
    suppress_handler_errors: bool = False
    suppress_time_limits: bool = False
    use_cache: bool = True  # --disable-cache
    poison_cache: bool = False
    clean_cache: bool = False
    color: str = "auto"
    width: int | None = None  # --width: columns of histograms, None asks the terminal
    remotes: list[str] = new(list)  # --remote, --remote-file
    remote_prefix: bool = False  # --remote-prefix
    elsewhere: bool = False  # the module will run on other hosts
    vm: bool = False  # --vm
    vm_release: str | None = None
    # Plain words behind an option whose value may be left out -> how they would be its value.
    apart: dict[str, str] = new(dict)
    autoprint: bool = True  # --no-global-var-display
    terse: bool = False  # no source comments in the C
    explain: str | None = None  # --explain CODE
    doc: str | None = None  # --doc NAME

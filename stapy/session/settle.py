"""What is settled before pass 1: limits of the process, ``-D``, ``-R``."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics, Span
from stapy.paths import is_dir, is_file

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.parse.nodes import Script

_PROGRAMS = "probes of programs have no such limit here"
_OUTPUT = "output goes another way than SystemTap's"
_MESSAGES = "it is for messages of SystemTap's own runtime"
_DYNINST = "there is no runtime of that kind"
# Macros that SystemTap knows and that change nothing here, each with the reason.
WITHOUT_EFFECT = {
    "MAXUPROBES": _PROGRAMS,
    "TASK_FINDER_VMA_ENTRY_PATHLEN": _PROGRAMS,
    "TASK_FINDER_MAP_ENTRY_ITEMS": _PROGRAMS,
    "TASK_UTRACE_HASH_BITS": _PROGRAMS,
    "UTRACE_TASK_WORK_POOL_SIZE": _PROGRAMS,
    "STP_UTRACE_USE_TASK_WORK_QUEUE": _PROGRAMS,
    "STP_MAX_PROCFS_FILES": "a script has as many files as it has procfs probes",
    "STP_RELAY_TIMER_INTERVAL": _OUTPUT,
    "STP_CTL_TIMER_INTERVAL": _OUTPUT,
    "STP_MAXBINARYARGS": _OUTPUT,
    "STP_LEGACY_PRINT": _OUTPUT,
    "STAP_TRANS_PROCFS": "the files of a session are in /proc",
    "STAP_TRANS_DEBUGFS": "the files of a session are in /proc",
    "MAPHASHBIAS": "the tables of arrays have a fixed size for their entries",
    "STP_TIMELOCKDELAY": "the clock needs no lock",
    "STP_TIMELOCKTRIES": "the clock needs no lock",
    "STP_TIME_SYNC_INTERVAL": "the clock is the kernel's own",
    "STP_TIME_SYNC_INTERVAL_CPUFREQ": "the clock is the kernel's own",
    "STP_TIME_SYNC_INTERVAL_NOCPUFREQ": "the clock is the kernel's own",
    "STAP_OVERRIDE_STUCK_CONTEXT": "a module is not unloaded while a handler runs",
    "STP_USE_DWARF_UNWINDER": "kernel stacks are the kernel's own unwinder's, and user stacks "
    "always use the tables of their programs",
    "MAX_CFI": "tables of frames have no such limit; -D STAPY_OBJECT_MEMORY is their size in MiB",
    "STAP_SPIN_TRYLOCK_MAX_COUNT": "MAXTRYLOCK counts for all locks",
    "STP_EXECTRACE": "statements are not traced",
    "STP_STDOUT_NOT_ATTY": "standard output is looked at when it is written to",
    "STP_FORCE_STDOUT_TTY": "standard output is looked at when it is written to",
    **dict.fromkeys(
        ("DEBUG_MEM", "DEBUG_TRANS", "DEBUG_UPROBES", "DEBUG_TASK_FINDER", "DEBUG_TASK_FINDER_VMA",
         "DEBUG_UNWIND", "DEBUG_SYMBOLS", "DEBUG_PROBES", "DEBUG_KPROBES", "DEBUG_TIME",
         "DEBUG_TRACEPOINTS", "DEBUG_PRIVILEGE", "DEBUG_STP_ON_THE_FLY", "DEBUG_SHM",
         "STP_TF_DEBUG"),
        _MESSAGES,
    ),
    **dict.fromkeys(
        ("STP_BUFFER_SIZE_SHIFT", "STP_LOG_BUF_LEN", "STP_LOG_BUF_ENTRIES_SHIFT",
         "STP_DYNINST_QUEUE_ITEMS", "STP_DYNINST_TIMEOUT_SECS"),
        _DYNINST,
    ),
}  # fmt: skip


# What C, the compiler and every file of the kernel have a meaning for.
STANDARD = frozenset(
    """
    asm auto break case char const continue default do double else enum extern float for goto
    if inline int long register restrict return short signed sizeof static struct switch
    typedef typeof union unsigned void volatile while _Bool _Static_assert __asm__
    __attribute__ __typeof__ __builtin_expect bool true false NULL size_t ssize_t ptrdiff_t
    intptr_t uintptr_t u8 u16 u32 u64 s8 s16 s32 s64 __u8 __u16 __u32 __u64 __s8 __s16 __s32
    __s64 current likely unlikely READ_ONCE WRITE_ONCE container_of ARRAY_SIZE offsetof
    """.split()  # noqa: SIM905
)

# What passes 1 and 2 of the smallest script take, without bytecode. With less, Python 3.11 may not
# end: where it has no room for the number of an instruction, it unwinds the same frame for ever.
LEAST_MEMORY = 48 << 20
_MEMBERS = "systemtap"  # the folder of a kernel's modules that has scripts' for stapusr


_TIDYING = 5  # seconds of a processor, once its limit is reached


def set_limits(limits: dict[str, int], diagnostics: Diagnostics) -> None:
    """Set the limits of ``--rlimit-NAME`` for this process and all that it starts.

    Raises `MemoryError` for a limit of memory in which nothing can be done.
    """
    for name, value in limits.items():
        if name == "as" and value < LEAST_MEMORY:
            raise MemoryError
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        try:
            resource.setrlimit(which, (value, _most(name, value)))
        except (OSError, ValueError, OverflowError) as error:
            diagnostics.warning(
                "W0654", f"Unable to set resource limits for rlimit-{name}: {error}"
            )


def _most(name: str, value: int) -> int:
    """Return the hard limit: of processor time as much more as it takes to say so and tidy up."""
    if name != "cpu":
        return value
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = value + _TIDYING
    return wanted if most == resource.RLIM_INFINITY else max(value, min(wanted, most))


def known_defines() -> set[str]:
    """List every macro of ``-D`` that changes what a module does."""
    from stapy.translate.tables import limits

    rows = (*limits.LIMITS, *limits.HISTOGRAM_LIMITS, *limits.GIVEN_LIMITS)
    return {row.name for row in rows} | set(limits.SWITCHES) | limits.ELSEWHERE


def check_defines(defines: dict[str, str], diagnostics: Diagnostics) -> None:
    """Warn of a limit that is spelled wrongly, and of those that have no effect here.

    One that differs by case only, and a word that C or the kernel has a meaning for, is an error.
    Other names are macros for the script's own C, of which nothing is known.
    """
    if not defines:
        return
    from stapy.diagnostics.suggest import distance, nearest

    known = known_defines()
    _check_buckets(defines, diagnostics)
    for name in defines:
        if name in known:
            continue
        if name in WITHOUT_EFFECT:
            diagnostics.warning("W0653", f"-D {name} has no effect: {WITHOUT_EFFECT[name]}")
            continue
        if name in STANDARD:
            diagnostics.error(
                "semantic error",
                "E0294",
                f"-D {name}={defines[name]}: C or the kernel has a meaning for this name",
                hint="choose another name for the macro",
            )
            continue
        bare = name.removeprefix("STP_").removeprefix("STAP_")
        close = [bare] if bare in known else nearest(name, known | set(WITHOUT_EFFECT))
        # Of equals, one that stands whole at the beginning, then one that has an effect.
        close.sort(
            key=lambda near: (
                distance(name.lower(), near.lower(), 9),
                not name.lower().startswith(near.lower()),
                near not in known,
            )
        )
        if close and close[0].lower() == name.lower():
            diagnostics.error(
                "semantic error",
                "E0294",
                f"-D {name} is no limit of stapy: those have capital letters",
                hint=f"did you mean -D {close[0]}?",
            )
        elif close and close_enough(name, close[0]):
            diagnostics.warning(
                "W0655",
                f"-D {name} is no limit of stapy",
                hint=f"did you mean -D {close[0]}?",
            )


def _check_buckets(defines: dict[str, str], diagnostics: Diagnostics) -> None:
    """Report a number of a histogram's buckets for which the kernel has no room."""
    from stapy.elaborate.lower.stats import POSSIBLE_BUCKETS

    value = defines.get("STP_MAX_BUCKETS", "")
    digits = value.rstrip("uUlL")
    if digits.isdecimal() and int(digits) > POSSIBLE_BUCKETS:
        diagnostics.error(
            "semantic error",
            "E0290",
            f"-D STP_MAX_BUCKETS={value}: takes at most {POSSIBLE_BUCKETS}",
            hint="the kernel has 32 KiB for the buckets of one processor",
        )


def close_enough(name: str, limit: str) -> bool:
    """Tell whether a macro's name is more likely a limit than one that a script's C asks for."""
    if name.removeprefix("STP_").removeprefix("STAP_") == limit:
        return True
    from stapy.diagnostics.suggest import distance

    return distance(name.lower(), limit.lower(), 3) <= max(1, min(3, len(limit) // 4))


def check_module_name(name: str | None, kernel: Kernel, diagnostics: Diagnostics) -> None:
    """Warn of a name that a module of the kernel has: only one of both can be loaded."""
    if not name:
        return
    builtin = kernel.modules.builtin()
    path = kernel.modules.path(name)
    if name not in builtin and (path is None or path.parent.name == _MEMBERS):
        return
    why = (
        f"the kernel has {name} built in and refuses another one"
        if name in builtin
        else f"while one of them is loaded the kernel refuses the other, and modprobe {name} fails"
    )
    diagnostics.warning(
        "W0618",
        f"-m {name} is the name of a module of kernel {kernel.release}",
        notes=[why],
        hint=f"another name, such as -m my_{name}",
    )


def check_tapsets(folders: list[str], diagnostics: Diagnostics) -> None:
    """Warn of folders of ``-I`` that have nothing for us."""
    for folder in folders:
        why = ""
        if not is_dir(folder):
            why = "there is no such folder"
        elif not os.access(folder, os.R_OK | os.X_OK):
            why = "it cannot be read"
        if why:
            diagnostics.warning("W0658", f"-I {folder} adds no tapsets: {why}")


def find_runtime(options: Options, diagnostics: Diagnostics) -> None:
    """Settle on the runtime of ``-R DIR``, else ``$SYSTEMTAP_RUNTIME``; report one not ours."""
    given = options.runtime_dir
    where = f"-R {given}"
    if given is None:
        given = os.environ.get("SYSTEMTAP_RUNTIME") or None
        where = f"$SYSTEMTAP_RUNTIME ({given})"
    if given is None:
        return
    if not is_file(Path(given) / "stapy.h"):
        diagnostics.error(
            "build error",
            "E0482",
            f"{where} is not a runtime of stapy",
            notes=[f"there is no {Path(given) / 'stapy.h'}"],
            hint="a module of stapy cannot be made with SystemTap's runtime",
        )
    options.runtime_dir = given


def warn_of_versions(
    places: list[Span], scripts: list[Script | None], diagnostics: Diagnostics
) -> None:
    """Warn, for ``--check-version``, of what in the scripts depends on SystemTap's version."""
    from stapy.parse.nodes import AliasDecl, FunctionDecl, GlobalDecl, ProbeDecl

    words = ((GlobalDecl, "global"), (FunctionDecl, "function"), (AliasDecl, "alias"),
             (ProbeDecl, "probe"))  # fmt: skip
    for place in places:
        # Tapset files are read ahead into sources of their own, whose numbers mean others here.
        sources = diagnostics.sources
        if not 0 <= place.source < len(sources.sources) or sources.sources[place.source].is_library:
            continue
        if sources.text(place) != "systemtap_v":
            continue
        what = "script"
        for decl in (decl for script in scripts if script for decl in script.decls):
            span = decl.span
            if span.source == place.source and span.start <= place.start < span.end:
                what = next((word for kind, word in words if isinstance(decl, kind)), what)
        diagnostics.warning(
            "W0656",
            f"This {what} uses tapset constructs that are dependent on systemtap version",
            place,
            where="this asks for the version",
        )

"""Functions that must not be probed, unless the user insists with -g.

Four reasons: the function runs while a hit is handled (our runtime, kprobes,
ftrace, breakpoint and NMI entry), it runs with the wrong stack or page tables
(low level entry code), it is a lock that a handler itself may take, or its file
is one of such code as a whole.  The kernel has a list of its own
(``/sys/kernel/debug/kprobes/blacklist``) and refuses those at registration;
this one keeps wildcards from asking.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache

_PATTERNS = (
    # the kernel's own tracing
    "*kprobe*",
    "*kretprobe*",
    "*rethook*",
    "arch_rethook_*",
    "*ftrace*",
    "objpool_*",  # where rethook takes its instances from and gives them back to
    "trampoline_*handler",
    "fprobe_*",
    "__kretprobe_*",
    "optimized_callback",
    "setjmp_*",
    "jprobe_*",
    "notrace_*",
    "__fentry__",
    "mcount",
    "arch_prepare_*probe*",
    "trace_graph_*",
    "prepare_ftrace_return",
    "stop_this_cpu",
    # the rest of the files below, for kernels without DWARF
    "__copy_instruction",
    "*_insn_slot",
    "__is_insn_slot_addr",
    "__recover_*prob*_insn",
    "recover_probed_instruction",
    "alloc_insn_page",
    "free_insn_page",
    "alloc_optinsn_page",
    "free_optinsn_page",
    "can_boost",
    "can_optimize",
    "can_probe",
    "collect_garbage_slots",
    "collect_one_slot",
    "copy_optimized_instructions",
    "insn_jump_into_range",
    "is_cfi_preamble_symbol",
    "optprobe_queued_unopt",
    "read_enabled_file_bool",
    "write_enabled_file_bool",
    "report_probe",
    "*register_fprobe*",
    "symbols_cmp",
    # entry, exceptions, NMI
    "asm_*",
    "entry_*",
    "__entry_*",
    "irqentry_*",
    "syscall_enter_from_user_mode*",
    "syscall_exit_to_user_mode*",
    "exc_*",
    "do_int3*",
    "int3_*",
    "do_debug",
    "do_nmi*",
    "default_do_nmi",
    "nmi_*",
    "*_nmi_*",
    "do_page_fault",
    "__do_page_fault",
    "do_trap*",
    "do_double_fault",
    "fixup_exception",
    "search_exception_tables",
    "ex_handler_*",
    "notify_die",
    "atomic_notifier_call_chain",
    "native_*",
    "__switch_to*",
    "ret_from_*",
    "restore_*",
    "paranoid_*",
    "error_entry",
    "error_return",
    "early_*",
    "poke_int3_*",
    "text_poke*",
    "smp_text_poke*",
    "load_current_idt",
    "kvm_steal_clock",
    "kvm_clock_*",
    "pv_native_*",
    "_paravirt_*",
    "paravirt_*",
    "xen_*entry*",
    "xen_asm_*",
    "xen_iret",
    "xenpv_restore_regs_*",
    # page tables, stack or registers are not the usual ones: start, sleep, kexec
    "startup_64",
    "*_startup_64*",
    "start_cpu0",
    "pvh_start_xen",
    "soft_restart_cpu",
    "xen_cpu_bringup_again",
    "ibt_selftest_noendbr",  # is meant to fault
    "vc_boot_ghcb",
    "verify_cpu",
    "sev_verify_cbit",
    "sme_encrypt_execute",
    "__enc_copy",
    "relocate_kernel",
    "relocate_range",
    "identity_mapped",
    "virtual_mapped",
    "swap_pages",
    "core_restore_code",
    "wakeup_long64",
    "do_suspend_lowlevel",
    "rewind_stack_and_make_dead",
    # what a handler itself calls
    "copy_from_kernel_nofault*",
    "copy_to_kernel_nofault*",
    "copy_from_user_nofault*",
    "copy_to_user_nofault*",
    "__copy_user_*",
    "bad_get_user",  # where those end that fail
    "__get_user_*",
    "__put_user_*",
    "copy_user_[!hl]*",  # not huge pages, folios and high pages
    "rep_movs_alternative",
    "memcpy*",
    "memset*",
    "memmove*",
    "ktime_get_*fast_ns",
    "__ktime_get_*fast*",
    "sched_clock*",
    "local_clock*",
    "cpu_clock*",
    "preempt_count_*",
    "preempt_schedule*",
    "rcu_nmi_*",
    "ct_nmi_*",
    "ct_irq_*",
    "rcu_is_watching",
    "rcu_dynticks_*",
    "lockdep_*",
    "lock_acquire*",
    "lock_release*",
    "trace_hardirqs_*",
    "trace_preempt_*",
    "stapy_*",
    # locks that handlers, timers and the transport take
    "_raw_*lock*",
    "_raw_*unlock*",
    "_raw_spin_*",
    "_raw_read_*",
    "_raw_write_*",
    "do_raw_*",
    "raw_spin_*",
    "queued_*lock*",
    "native_queued_*",
    "mutex_lock*",
    "mutex_unlock*",
    "mutex_trylock*",
    "__mutex_*",
    "spin_lock*",
    "spin_unlock*",
    "read_lock*",
    "read_unlock*",
    "write_lock*",
    "write_unlock*",
    "debug_mutex_*",
    "osq_*lock",
    # thunks and compiler helpers that have no frame of their own
    "__x86_indirect_*",
    "__x86_return_*",
    "retpoline_*",
    "*_return_thunk",  # every function returns by one of them, those that handle a hit too
    "return_to_handler",
    "srso_safe_ret",
    "*_untrain_ret",
    "__x86_return_skl",
    "warn_thunk_thunk",
    "__thunk_restore",
    "__static_call_return",
    "__raw_callee_save_*",
    "__cfi_*",
    "__pfx_*",
    "__SCT__*",
    "__SCK__*",
    "__traceiter_*",
    "__bpf_trace_*",
    "__probestub_*",
    "__stack_chk_fail",
    "stackleak_*",
    "__sanitizer_*",
    "__asan_*",
    "__kasan_*",
    "__kcsan_*",
    "__tsan_*",
)

# Whole files of such code, as DWARF names them: what handles probes, and what handlers are made
# of.  Without DWARF no point names a file: the patterns above have their functions' names.
_FILES = (
    "kernel/kprobes.c",
    "arch/*/kernel/kprobes.c",
    "arch/*/kernel/kprobes/*",
    "arch/*/kernel/paravirt.c",
    "kernel/trace/rethook.c",
    "kernel/trace/fprobe.c",
    "drivers/ide/ide-iops.c",
    "*include/asm/io.h",
    "*include/asm/io-defs.h",
    "*include/asm/io_64.h",
    "*include/asm/bitops.h",
    "*include/asm/paravirt.h",
)
# A function that returns in an unusual way must not have its return address replaced.
_NO_RETURN = (
    "do_exit",
    "do_group_exit",
    "make_task_dead",
    "rewind_stack_and_make_dead",
    "start_kernel",
    "rest_init",
    "cpu_startup_entry",
    "panic",
    "schedule_tail",
    "ret_from_fork*",
    "_start",
    "__schedule",
    "kthread_exit",
    "kthread_complete_and_exit",
    "module_put_and_kthread_exit",
    "__module_put_and_kthread_exit",
)

# The kernel's handling of a return ends in them, when it may be preempted: met again without end.
_AGAIN = ("preempt_schedule_notrace*", "dynamic_preempt_schedule_notrace")

_OF_FILE = "its file is one of those that handle probes"
_HANDLES = "it belongs to the code that handles probes"
_NO_USUAL_RETURN = "it does not return in the usual way"

_CACHE: dict[tuple[str, ...], re.Pattern[str]] = {}


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    regex = _CACHE.get(patterns)
    if regex is None:
        regex = re.compile("|".join(f"(?:{translate(item)})" for item in patterns))
        _CACHE[patterns] = regex
    return regex.match(name) is not None


@cache  # a list asks about each function that holds an inlined one
def reason(name: str, is_return: bool) -> str:
    """Say why ``name`` must not be probed; "" when it may.

    A copy by the compiler such as ``f.isra.0`` is like ``f``.
    """
    name = name.partition(".")[0] or name
    if never(name, is_return):
        return never(name, is_return)
    if _handles(name):
        return _HANDLES
    if is_return and _matches(name, _NO_RETURN):
        return _NO_USUAL_RETURN
    return ""


@cache
def of_file(file: str) -> str:
    """Say why nothing of a source file must be probed; "" when it may."""
    return _OF_FILE if file and _matches(file, _FILES) else ""


@cache
def _handles(name: str) -> bool:
    return _matches(name, _PATTERNS)


@cache
def never(name: str, is_return: bool) -> str:
    """Say why ``name`` must not be probed in guru mode either; "" when it may."""
    if is_return and _matches(name, _AGAIN):
        return "the kernel returns from it whenever it has handled a return"
    return ""


def hint(note: str) -> str:
    """Say what helps against a refusal: guru mode against this list, else nothing ("")."""
    if note.endswith((_HANDLES, _NO_USUAL_RETURN, _OF_FILE)):
        return "-g lifts the list of functions that must not be probed"
    return ""

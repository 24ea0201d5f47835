"""Probes on what a handler itself runs: refused, or skipped and counted, never a hang.

NMIs come from the emulator's monitor, many of them in the middle of a handler.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build, run_built
from tests.vm.safety.support import shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# A handler that prints, locks, reads memory, takes times and walks the stack.
HANDLER = """
global hits, seen[500], sizes
function work() {
    hits++
    seen[hits % 400, execname()] <<< gettimeofday_ns() % 100
    sizes <<< strlen(sprint_backtrace())
    try { kernel_string(task_current() + hits % 64) kernel_long(hits % 3 ? hits : -4096) } catch { }
    try { user_string(hits << 5) } catch { }
    printf("%s %d %s %M\\n", execname(), cpu(), symname(addr()), task_current())
    print_backtrace()
}
probe timer.s(3) { exit() }
probe end { printf("hits=%d\\n", hits) }
"""

# Each is called by something that `work` does, or by what carries it to the user.
INSIDE = [
    "copy_from_kernel_nofault",
    "copy_from_user_nofault",
    "__get_user_nocheck_8",
    "ktime_get_real_fast_ns",
    "ktime_get_mono_fast_ns",
    "ktime_get_ts64",
    "_raw_spin_lock",
    "_raw_spin_lock_irqsave",
    "_raw_spin_unlock_irqrestore",
    "_raw_read_lock",
    "mutex_lock",
    "vsnprintf",
    "vscnprintf",
    "number",
    "string",
    "strscpy",
    "strlen",
    "strnlen",
    "memcpy",
    "memset",
    "kallsyms_lookup",
    "sprint_symbol",
    "module_address_lookup",
    "stack_trace_save",
    "stack_trace_save_regs",
    "arch_stack_walk",
    "unwind_next_frame",
    "__unwind_start",
    "kernel_text_address",
    "__module_address",
    "proc_reg_read",
    "proc_reg_poll",
    "_copy_to_user",
    "copy_to_user_nofault",
    "get_random_u32",
    "delay_tsc",
    "__const_udelay",
    "hrtimer_forward",
    "hrtimer_interrupt",
    "__hrtimer_run_queues",
    "mod_timer",
    "__wake_up",
    "rcu_read_unlock_strict",
    "__rcu_read_lock",
    "__rcu_read_unlock",
    "preempt_schedule",
    "preempt_schedule_notrace",
    "fixup_exception",
    "search_exception_tables",
    "exc_page_fault",
    "do_user_addr_fault",
    "bad_area_nosemaphore",
    "kprobe_ftrace_handler",
    "aggr_pre_handler",
    "get_kprobe",
    "sort",
    "sched_clock",
    "irq_enter_rcu",
    "printk",
    "_printk",
    "vprintk",
    "strncpy_from_user_nofault",
    "strncpy_from_kernel_nofault",
    "find_vma",
    "trace_call_bpf",
    "rethook_trampoline_handler",
]
POINTS = {
    "kprobes": 'probe kernel.function("{}")? {{ work() }}',
    "returns": 'probe kernel.function("{}").return? {{ work() }}',
    "statements": 'probe kernel.statement(0)?, kprobe.function("{}")? {{ work() }}',
}
TRACEPOINTS = [
    "irq:irq_handler_entry", "timer:hrtimer_expire_entry", "timer:timer_start",
    "rcu:rcu_utilization", "printk:console", "exceptions:page_fault_kernel",
    "exceptions:page_fault_user", "irq_vectors:local_timer_entry", "lock:contention_begin",
    "kmem:kmalloc", "sched:sched_waking", "sched:sched_switch", "preemptirq:irq_disable",
    "raw_syscalls:sys_exit", "random:get_random_bytes",
]  # fmt: skip
LOAD = "sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=3000; ls -lR /etc >/dev/null'"
OPTIONS = (
    "-DMAXSKIPPED=1000000000",
    "-DSTP_NO_OVERLOAD",
    "-DMAXACTION=100000",
    "-DMAXERRORS=1000000",
)


@pytest.mark.parametrize("guru", [False, True], ids=["plain", "guru"])
@pytest.mark.parametrize("how", ["kprobes", "returns"])
def test_functions_that_a_handler_calls(
    how: str, guru: bool, pair: Machine, tmp_path: Path
) -> None:
    """All in one script: what -g lifts the blacklist from is refused by the kernel, or nests."""
    text = "\n".join(POINTS[how].format(name) for name in INSIDE) + HANDLER
    words = [*OPTIONS, *(["-g"] if guru else []), "-c", LOAD, "-e", text]
    built = build(pair.release, words, tmp_path)
    assert built.module, built.stderr
    result = run_built(pair, built, words, 60)
    assert result.kind == "exited", (result.kind, result.dmesg[-3000:], result.log_path)
    assert not result.left_modules
    assert re.search(r"^hits=\d+$", result.stdout, re.M), result.stdout[-500:] + result.stderr
    assert int(re.findall(r"^hits=(\d+)$", result.stdout, re.M)[-1]) > 0
    assert "Skipped due to reentrancy" in result.stderr or "missed" in result.stderr, result.stderr


def test_tracepoints_that_a_handler_passes(pair: Machine, tmp_path: Path) -> None:
    text = "\n".join(f'probe kernel.trace("{name}")? {{ work() }}' for name in TRACEPOINTS)
    words = [*OPTIONS, "-c", LOAD, "-e", text + HANDLER]
    built = build(pair.release, words, tmp_path)
    assert built.module, built.stderr
    result = run_built(pair, built, words, 60)
    assert result.kind == "exited", (result.kind, result.dmesg[-3000:], result.log_path)
    assert not result.left_modules
    assert re.search(r"^hits=[1-9]\d*$", result.stdout, re.M), result.stderr


def test_the_consumer_is_traced(pair: Machine, tmp_path: Path) -> None:
    """Each read of the output is a system call that makes more output."""
    text = """
    probe kernel.trace("raw_syscalls:sys_enter") { printf("%s %d\\n", execname(), $id) }
    probe timer.s(3) { exit() }
    probe end { println("end") }
    """
    built = build(pair.release, ["-m", "chase", "-e", text], tmp_path)
    assert built.module, built.stderr
    lines, _ = shell(pair, {"chase": built.module}, "$run $chase >out; tail -n 1 out; wc -l <out")
    assert lines[0] == "end"
    assert 10 < int(lines[1]) < 200_000


NMI = (
    HANDLER.replace("hits=%d", "hits=%d nmis=%d").replace("hits) }", "hits, nmis) }")
    + """
global nmis, by_nmi[50]
probe timer.ms(20) { for (i = 0; i < 5; i++) work() }
probe kernel.trace("nmi_handler") { nmis++; by_nmi[nmis % 40] <<< nmis; work() }
"""
)
ROUNDS_OF_NMIS = 20


def test_nmis_in_the_middle_of_handlers(release: str, tmp_path: Path) -> None:
    """Their own probes are skipped while a handler runs, and run when none does."""
    script = tmp_path / "nmi.stp"
    script.write_text(NMI)
    words = [str(script), *OPTIONS]
    built = build(release, words, tmp_path)
    assert built.module is not None, built.stderr
    over = threading.Event()
    with Machine(release) as guest:
        quiet = guest.run(["/bin/sh", "-c", "echo 0 > /proc/sys/kernel/unknown_nmi_panic"])
        assert quiet.status == 0

        def send() -> None:
            while not over.wait(0.03):
                guest.nmi()

        sender = threading.Thread(target=send)
        sender.start()
        try:
            # That one comes while a handler runs is chance, so it is tried again.
            for _ in range(ROUNDS_OF_NMIS):
                result = run_built(guest, built, words, 120.0)
                found = re.search(r"^hits=(\d+) nmis=(\d+)$", result.stdout, re.MULTILINE)
                told = (
                    result.kind,
                    result.stderr[-500:],
                    result.stdout[-500:],
                    result.dmesg[-500:],
                )
                assert found and result.kind == "exited", told
                assert int(found[1]) > 100 and int(found[2]) > 10, found[0]
                skipped = re.search(r"Skipped due to reentrancy: ([1-9]\d*)", result.stderr)
                if skipped:
                    break
        finally:
            over.set()
            sender.join()
    assert skipped, result.stderr
    # On a busy host the guest itself may stand still in the middle of one.
    expected = r"Uhhuh\. NMI received|Dazed and confused|INFO: NMI handler .* took too long to run"
    said = re.sub(rf".*({expected}).*\n?", "", result.dmesg)
    assert not re.search(r"WARNING|BUG|Oops|INFO:|perf: interrupt", said), said[-3000:]

"""What the kernel's log says about a run."""

from __future__ import annotations

import re

EMULATOR = "emulator"
# The head line of every kind of complaint; what follows it is its detail.
COMPLAINTS = (
    ("panic", r"Kernel panic - not syncing"),
    (
        "oops",
        r"\bOops\b|Internal error: |general protection fault|unable to handle (kernel|page fault)|"
        r"kernel BUG at|invalid opcode: |stack segment: |double fault: |int3: 0000",
    ),
    ("KASAN", r"BUG: KASAN|BUG: KFENCE|BUG: KCSAN|BUG: KMSAN|UBSAN: "),
    (
        "lockdep",
        r"WARNING: possible |WARNING: (inconsistent|suspicious)|INFO: possible |"
        r"BUG: Invalid wait context|\*\*\* DEADLOCK|BUG: MAX_LOCK|bad unlock balance",
    ),
    ("RCU stall", r"rcu.*(self-detected|detected) stall|rcu.*kthread starved|rcu.*stalls? on CPU"),
    ("lockup", r"(soft|hard) lockup|NMI watchdog: Watchdog detected"),
    ("hung task", r"INFO: task .* blocked for more than"),
    (
        "leak",
        r"kmemleak: \d+ new suspected|Objects remaining in|still has objects when|"
        r"module: .* leak",
    ),
    ("BUG", r"\bBUG: "),
    (
        "memory",
        r"page allocation failure|vmap allocation for size|percpu: allocation failed|"
        r"Could not allocate .* percpu|vmalloc error|Out of memory: ",
    ),
    (
        "corruption",
        r"list_(add|del) corruption|refcount_t: |slab corruption|Bad page state|"
        r"corrupted stack end|\bBUG [\w-]+ \(|(Redzone|Poison|Padding) overwritten|"
        r"pagealloc: .*(error|corruption)",
    ),
    ("WARNING", r"WARNING: CPU: |WARNING: at |------------\[ cut here \]"),
    ("scheduling", r"scheduling while atomic|sleeping function called from invalid"),
    # Bits 22 to 31 of EFLAGS read as 0 on every processor (Intel SDM 1, 3.4.3): whatever these
    # registers show beside, QEMU 7.2 lost its lazily computed flags, and with them TF and IF.
    (EMULATOR, r"EFLAGS: (?!00[0-3])[0-9a-f]{8}\b"),
    ("kprobes", r"Failed to (arm|disarm|prepare arming) kprobe|kprobes? .*recursion"),
)

_ROWS = tuple((kind, re.compile(pattern)) for kind, pattern in COMPLAINTS)
_CALL_TRACE_LINES = 40


def complaints(log: str) -> list[tuple[str, str]]:
    """List ``(kind, line)`` of every complaint in a kernel log, in order."""
    found = []
    for line in log.splitlines():
        for kind, pattern in _ROWS:
            if pattern.search(line):
                found.append((kind, line))
                break
    return found


def excerpt(log: str, lines: int = _CALL_TRACE_LINES) -> str:
    """Cut out the first complaint and what follows it, for a person to read; else the end."""
    rows = log.splitlines()
    for number, line in enumerate(rows):
        if complaints(line):
            return "\n".join(rows[number : number + lines])
    return "\n".join(rows[-lines:])

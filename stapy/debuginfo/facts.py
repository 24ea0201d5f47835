"""What the runtime asks about a kernel, and the data that answers each question.

Each row of `QUESTIONS` becomes one line ``#define STAPY_HAVE_NAME 0/1`` of the
generated ``kernel_facts.h``, with its origin as a comment.  Nothing is compiled
to find out: exports come from Module.symvers, members and prototypes from BTF,
headers from the header tree.  Only where that data is missing the kernel's
version decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.errors import DebuginfoError
from stapy.kernel.exports import Exports
from stapy.kernel.target import Kernel
from stapy.paths import is_file
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.debuginfo.btf.reader import Btf

EXPORT, MEMBER, ARITY, TYPE, HEADER, CALLBACK, VALUE = (
    "export",
    "member",
    "arity",
    "type",
    "header",
    "callback",
    "value",
)


class Question(Record):
    """One question.

    ``kind`` says how to read ``subject``:

    ========  ======================================================  =================
    export    a symbol that modules can link to                       ``hrtimer_setup``
    member    a member of a struct                                    ``module.mem``
    arity     a function with ``count`` parameters                    ``class_create``
    type      a struct, union or enum                                 ``struct rethook``
    header    a file under include/                                   ``linux/fprobe.h``
    callback  a function pointer member with ``count`` parameters     ``fprobe.entry_handler``
    value     a value of an enum                                      ``pid_type.PIDTYPE_TGID``
    ========  ======================================================  =================

    ``since`` is the version from which the answer is yes on the main line,
    ``until`` the first version where it is no again; both only count when no
    data answers.
    """

    name: str
    kind: str
    subject: str
    count: int = 0
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] = (99, 0)


def _q(
    name: str,
    kind: str,
    subject: str,
    since: tuple[int, int] = (0, 0),
    until: tuple[int, int] = (99, 0),
    count: int = 0,
) -> Question:
    return Question(name, kind, subject, count, since, until)


QUESTIONS: tuple[Question, ...] = (
    # timers
    _q("HRTIMER_SETUP", EXPORT, "hrtimer_setup", (6, 13)),
    _q("TIMER_DELETE_SYNC", EXPORT, "timer_delete_sync", (6, 2)),
    # files
    _q("GET_FILE_RCU", EXPORT, "get_file_rcu", (6, 7)),
    _q("FILE_OPEN_ROOT_PATH", ARITY, "file_open_root", (5, 13), count=4),
    _q("PDE_DATA", EXPORT, "PDE_DATA", until=(5, 17)),
    # memory
    _q("COPY_TO_KERNEL_NOFAULT", EXPORT, "copy_to_kernel_nofault", (99, 0)),
    _q("STRNCPY_FROM_KERNEL_NOFAULT", EXPORT, "strncpy_from_kernel_nofault", (99, 0)),
    _q("STRNCPY_FROM_USER_NOFAULT", EXPORT, "strncpy_from_user_nofault", (99, 0)),
    _q("ACCESS_PROCESS_VM", EXPORT, "access_process_vm", (4, 10)),
    _q("GET_USER_PAGES_REMOTE", EXPORT, "get_user_pages_remote", (4, 6)),
    _q("VM_FAULT_COMPLETED", VALUE, "vm_fault_reason.VM_FAULT_COMPLETED", (6, 0)),
    _q("VMALLOC_HUGE", EXPORT, "vmalloc_huge", (5, 18), (6, 10)),
    # symbols and stacks
    _q("KALLSYMS_LOOKUP_NAME", EXPORT, "kallsyms_lookup_name", until=(5, 7)),
    _q("KALLSYMS_ON_EACH_SYMBOL", EXPORT, "kallsyms_on_each_symbol", until=(5, 7)),
    _q("SPRINT_SYMBOL_BUILD_ID", EXPORT, "sprint_symbol_build_id", (5, 15)),
    _q("STACK_TRACE_SAVE", EXPORT, "stack_trace_save", (5, 2)),
    _q("STACK_TRACE_SAVE_REGS", EXPORT, "stack_trace_save_regs", (99, 0)),
    _q("UNWIND_START", EXPORT, "__unwind_start", (4, 9)),
    # probes
    _q("FPROBE", EXPORT, "register_fprobe", (5, 18)),
    _q("FPROBE_HEADER", HEADER, "linux/fprobe.h", (5, 18)),
    _q("FPROBE_ENTRY_5", CALLBACK, "fprobe.entry_handler", (6, 6), count=5),
    _q("RETHOOK", TYPE, "struct rethook", (5, 18)),
    _q("KRETPROBE_HOLDER", MEMBER, "kretprobe_instance.rph", (5, 11), (5, 18)),
    _q("KRETPROBE_OF_INSTANCE", MEMBER, "kretprobe_instance.rp", until=(5, 11)),
    _q("KPROBE_ON_FUNC_ENTRY", EXPORT, "kprobe_on_func_entry", (99, 0)),
    _q("FTRACE_REGS_ARGS", TYPE, "struct ftrace_regs", (5, 11)),
    _q("FOR_EACH_KERNEL_TRACEPOINT", EXPORT, "for_each_kernel_tracepoint", (3, 18)),
    _q("TRACEPOINT_MAY_EXIST", EXPORT, "tracepoint_probe_register_prio_may_exist", (5, 14)),
    _q("UPROBE_REGISTER_INODE", ARITY, "uprobe_register", until=(6, 12), count=3),
    _q("UPROBE_HANDLER_DATA", CALLBACK, "uprobe_consumer.handler", (6, 13), count=3),
    _q("UPROBE_FILTER_CONTEXT", CALLBACK, "uprobe_consumer.filter", until=(6, 12), count=3),
    _q("UPROBE_UNREGISTER_NOSYNC", EXPORT, "uprobe_unregister_nosync", (6, 12)),
    _q("WIDE_HW_BREAKPOINT", EXPORT, "register_wide_hw_breakpoint", (2, 6)),
    _q("BPF_TRAMPOLINE_MUTEX", MEMBER, "bpf_trampoline.mutex", (5, 5), (7, 2)),
    _q("BPF_TRAMP_NODE", MEMBER, "bpf_tramp_link.node", (7, 2)),
    _q("BPF_LINK_ATTACH_TYPE", MEMBER, "bpf_link.attach_type", (6, 17)),
    _q("PERF_INHERIT_THREAD", MEMBER, "perf_event_attr.inherit_thread", (5, 13)),
    # tasks and files
    _q("FPU_FPSTATE", MEMBER, "fpu.fpstate", (5, 16)),
    _q("TASK_STATE_UNDERSCORE", MEMBER, "task_struct.__state", (5, 14)),
    _q("TASK_WORK_ADD", EXPORT, "task_work_add"),
    _q("GET_TASK_EXE_FILE", EXPORT, "get_task_exe_file", (99, 0)),
    _q("MM_MMAP_LOCK", MEMBER, "mm_struct.mmap_lock", (5, 8)),
    _q("VMA_LINKED_LIST", MEMBER, "vm_area_struct.vm_next", until=(6, 1)),
    _q("MODULE_MEM", MEMBER, "module.mem", (6, 4)),
    _q("PROC_OPS", TYPE, "struct proc_ops", (5, 6)),
    _q("FILE_REF", MEMBER, "file.f_ref", (6, 13)),
    _q("INODE_ATIME_SEC", MEMBER, "inode.i_atime_sec", (6, 11)),
)


class _Data(Record):
    """Everything that answers may come from."""

    kernel: Kernel
    btf: Btf | None
    exports: Exports


# An answer and its origin, or None when the data cannot tell.
Answer = tuple[bool, str]


def _export(question: Question, data: _Data) -> Answer | None:
    if not data.exports.is_known:
        return None
    return question.subject in data.exports, "Module.symvers"


def _find_struct(name: str, btf: Btf) -> c.CType | None:
    found = btf.type(f"struct {name}")
    return None if isinstance(found, c.Struct) and found.is_declaration else found


def _member(question: Question, data: _Data) -> Answer | None:
    if data.btf is None:
        return None
    struct, _, member = question.subject.partition(".")
    found = _find_struct(struct, data.btf)
    if found is None:
        return None
    return c.find_member(found, member) is not None, f"BTF: {question.subject}"


def _callback(question: Question, data: _Data) -> Answer | None:
    if data.btf is None:
        return None
    struct, _, member = question.subject.partition(".")
    found = _find_struct(struct, data.btf)
    row = c.find_member(found, member) if found is not None else None
    if row is None:
        return None
    type = c.strip(row[0].type)
    if isinstance(type, c.Pointer):
        type = c.strip(type.target)
    if not isinstance(type, c.FunctionType):
        return None
    count = len(type.params)
    return count == question.count, f"BTF: {question.subject} takes {count}"


def _arity(question: Question, data: _Data) -> Answer | None:
    found = data.btf.function(question.subject) if data.btf is not None else None
    if found is None:
        return None
    count = len(found.params)
    return count == question.count, f"BTF: {question.subject}() takes {count}"


def _value(question: Question, data: _Data) -> Answer | None:
    if data.btf is None:
        return None
    name, _, value = question.subject.partition(".")
    found = data.btf.type(f"enum {name}")
    if not isinstance(found, c.Enum):
        return None
    return any(row.name == value for row in found.values), f"BTF: {question.subject}"


def _type(question: Question, data: _Data) -> Answer | None:
    if data.btf is None:
        return None
    found = data.btf.type(question.subject)
    whole = found is not None and not (isinstance(found, c.Struct) and found.is_declaration)
    return whole, f"BTF: {question.subject}"


def _header(question: Question, data: _Data) -> Answer | None:
    if data.kernel.source_dir is None:
        return None
    path = data.kernel.source_dir / "include" / question.subject
    return is_file(path), f"include/{question.subject}"


_ANSWER: dict[str, Callable[[Question, _Data], Answer | None]] = {
    EXPORT: _export,
    MEMBER: _member,
    CALLBACK: _callback,
    ARITY: _arity,
    TYPE: _type,
    HEADER: _header,
    VALUE: _value,
}


def answer(question: Question, kernel: Kernel, btf: Btf | None, exports: Exports) -> Answer:
    """Answer a question with yes or no, and say where that is from."""
    found: Answer | None = None
    try:
        found = _ANSWER[question.kind](question, _Data(kernel, btf, exports))
    except DebuginfoError as error:
        return _by_version(question, kernel)[0], f"kernel version, since {error}"
    return found if found is not None else _by_version(question, kernel)


def _by_version(question: Question, kernel: Kernel) -> Answer:
    version = (*kernel.version, 0, 0)[:2]
    yes = question.since <= version < question.until
    return yes, f"kernel version {version[0]}.{version[1]}"


def kernel_facts(kernel: Kernel, btf: Btf | None, exports: Exports) -> str:
    """Write the text of ``kernel_facts.h``."""
    rows = [(question, *answer(question, kernel, btf, exports)) for question in QUESTIONS]
    width = max(len(question.name) for question in QUESTIONS) + len("STAPY_HAVE_")
    lines = [
        f"/* What the runtime asks about kernel {kernel.release}; made by stapy. */",
        "#ifndef STAPY_KERNEL_FACTS_H",
        "#define STAPY_KERNEL_FACTS_H",
        "",
    ]
    for question, yes, origin in rows:
        name = f"STAPY_HAVE_{question.name}"
        origin = origin.replace("*/", "* /")
        lines.append(f"#define {name:<{width}} {int(yes)} /* {origin} */")
    lines += ["", "#endif", ""]
    return "\n".join(lines)

"""What people type by habit from bpftrace, DTrace, perf and ftrace, and how it is said here."""

from __future__ import annotations

import re
from typing import NamedTuple

from stapy.diagnostics.foreign_words import call_hint
from stapy.diagnostics.model import Source


class Foreign(NamedTuple):
    """A text in another tracer's language: its name, the first probe's place, that probe here."""

    language: str
    start: int
    end: int
    here: str


# Possessive: a probe's name is not looked for inside a comment.
_SPACE = r"(?:\s|/\*.*?\*/|//[^\n]*+|\#[^\n]*+)*+"
_BPFTRACE = re.compile(
    _SPACE
    + r"""(?:probe\s+)?(?P<probe>(?P<kind>kprobe|kretprobe|k|kr|tracepoint|t|rawtracepoint|rt|kfunc
    |kretfunc|fentry|fexit|f|fr|uprobe|uretprobe|u|ur|usdt|interval|i|profile|p|software|s|hardware
    |h|watchpoint|w|iter|it|self|bench|test):(?P<rest>[^\s{,]+))""",
    re.VERBOSE | re.DOTALL,
)
_BOTH = re.compile(_SPACE + r"(?P<probe>BEGIN|END|ERROR)\s*(?:/[^/]*/\s*)?\{", re.DOTALL)
_DTRACE = re.compile(
    _SPACE + r"(?P<probe>(?P<provider>[A-Za-z_][\w$]*\*?|):(?P<module>[^:\s{/,]*)"
    r":(?P<function>[^:\s{/,]*):(?P<name>[\w-]*))\s*[{/,]",
    re.DOTALL,
)
_TICK = re.compile(_SPACE + r"(?P<probe>(?P<kind>tick|profile)-(?P<rest>\w+))\s*[{/,]", re.DOTALL)
_FTRACE = re.compile(
    _SPACE + r"(?P<probe>(?P<kind>[pr])\d*(?::(?P<event>[\w/]+))?\s+(?P<symbol>[A-Za-z_]\w*)"
    r"(?:\+\w+)?)(?:\s+\w+=\S+)*\s*\Z"
)
_PERF = re.compile(_SPACE + r"(?P<probe>(?P<system>[a-z_]\w*):(?P<event>[a-z_]\w*))\s*\Z")
_FILTER = re.compile(
    _SPACE + r"""probe\s+(?P<probe>(?:[\w.*()]|"[^"\n]*")+\s*/(?![*/])(?P<test>[^/\n{]+)/)\s*\{"""
)
_UNITS = {"s": "s", "sec": "s", "ms": "ms", "msec": "ms", "us": "us", "usec": "us", "hz": "hz",
          "ns": "ns", "nsec": "ns"}  # fmt: skip


def foreign_language(text: str) -> Foreign | None:
    """Find the tracer that a script was written for, None when it may be SystemTap's."""
    for pattern, language, say in (
        (_FTRACE, "ftrace", _from_ftrace),
        (_TICK, "DTrace", _from_tick),
        (_DTRACE, "DTrace", _from_dtrace),
        (_BPFTRACE, "bpftrace", _from_bpftrace),
        (_BOTH, "bpftrace or DTrace", _from_both),
        (_PERF, "perf", _from_perf),
        (_FILTER, "bpftrace or DTrace", _from_filter),
    ):
        found = pattern.match(text)
        if found and found["probe"].rstrip(":"):
            return Foreign(language, found.start("probe"), found.end("probe"), say(found))
    return None


def _function(name: str, suffix: str = "") -> str:
    call = re.fullmatch(r"(?:__x64_|__se_|__do_)?sys_(\w+)", name)
    if call:
        return f"syscall.{call[1]}{suffix}"
    module, _, bare = name.rpartition(":")
    where = f'module("{module}")' if module and module != "vmlinux" else "kernel"
    return f'{where}.function("{bare}"){suffix}'


def tracepoint(name: str) -> str:
    """Write the probe point for a tracepoint named as ``system:event``."""
    return system_call(name) or f'kernel.trace("{name}")'


def system_call(name: str) -> str:
    """Write ``syscall.X`` for the name of one of the trace events of system calls, else ""."""
    found = re.fullmatch(r"(?:(?:raw_)?syscalls:)?sys_(enter|exit)_(\w+)", name)
    if not found:
        return ""
    return f"syscall.{found[2]}" + (".return" if found[1] == "exit" else "")


def old_function(name: str) -> str:
    """Write ``syscall.X`` for the function of a system call as older kernels name it, else ""."""
    found = re.fullmatch(r"(?:sys|SyS|compat_sys|__do_sys|__se_sys|SYSC)_(\w+)", name)
    return f"syscall.{found[1]}" if found else ""


def several_functions(pattern: str) -> str:
    """Write points of several functions that a pattern has in braces or between bars, else ""."""
    before, opening, rest = pattern.partition("{")
    inside, closing, behind = rest.partition("}")
    words = [before + word + behind for word in inside.split(",")] if opening and closing else []
    words = words or pattern.split("|")
    if len(words) < 2 or not all(re.fullmatch(r"[\w:*?]+", word) for word in words):
        return ""
    points = ",".join(f'function("{word}")' for word in words[:3])
    return f".{{{points}}} means several: a name has the wildcards *, ? and [] only"


def _timer(text: str, unit: str = "") -> str:
    found = re.fullmatch(r"(?:(\w+):)?(\d+)([a-z]*)", text)
    if not found:
        return "timer.s(1)"
    word = _UNITS.get(found[1] or found[3] or unit, "s")
    return f"timer.{word}({found[2]})"


def _file(name: str) -> str:
    """Quote a file of code named as in bpftrace: a path, a command, a library without suffix."""
    is_short = name.startswith("lib") and ".so" not in name
    return f'"{name}.so*"' if is_short else f'"{name}"'


def _mark(provider: str, name: str) -> str:
    return (f'.provider("{provider}")' if provider else "") + f'.mark("{name}")'


def _from_bpftrace(found: re.Match[str]) -> str:
    kind, rest = found["kind"], found["rest"]
    rest = rest.split("+")[0]
    if kind in ("kprobe", "k", "kfunc", "fentry", "f"):
        return _function(rest)
    if kind in ("kretprobe", "kr", "kretfunc", "fexit", "fr"):
        return _function(rest, ".return")
    if kind in ("tracepoint", "t"):
        return tracepoint(rest)
    if kind in ("rawtracepoint", "rt"):
        return f'kernel.trace("{rest.rpartition(":")[2]}")'
    if kind in ("interval", "i"):
        return _timer(rest)
    if kind in ("profile", "p"):
        number = re.search(r"\d+", rest)
        return f"timer.profile.freq.hz({number[0]})" if number else "timer.profile"
    if kind in ("software", "s", "hardware", "h"):
        return _event("sw" if kind[0] == "s" else "hw", rest.split(":")[0])
    if kind in ("watchpoint", "w"):
        return f"kernel.data({rest.split(':')[0]}).rw"
    if kind == "usdt":
        file, _, mark = rest.partition(":")
        provider, _, name = mark.rpartition(":")
        return f"process({_file(file)}){_mark(provider, name)}"
    if kind[0] == "u":
        file, _, function = rest.partition(":")
        suffix = ".return" if kind.endswith(("r", "retprobe")) else ""
        return f'process({_file(file)}).function("{function}"){suffix}'
    return "begin"


# Names of bpftrace's software and hardware events that are others here.
_EVENTS = {
    "cpu": "cpu_clock", "faults": "page_faults", "cs": "context_switches",
    "major_faults": "page_faults_maj", "minor_faults": "page_faults_min",
    "migrations": "cpu_migrations", "cycles": "cpu_cycles", "branches": "branch_instructions",
    "frontend_stalls": "stalled_cycles_frontend", "backend_stalls": "stalled_cycles_backend",
    "ref_cycles": "ref_cpu_cycles",
}  # fmt: skip


def _event(kind: str, name: str) -> str:
    name = name.replace("-", "_")
    return f"perf.{kind}.{_EVENTS.get(name, name)}"


def _from_both(found: re.Match[str]) -> str:
    return found["probe"].lower()


_DTRACE_NAMES = {
    ("sched", "on-cpu"): "scheduler.cpu_on",
    ("sched", "off-cpu"): "scheduler.cpu_off",
    ("sched", "wakeup"): "scheduler.wakeup",
    ("io", "start"): "ioblock.request",
    ("io", "done"): "ioblock.end",
    ("proc", "exec"): "kprocess.exec",
    ("proc", "exec-success"): "kprocess.exec_complete",
    ("proc", "create"): "kprocess.create",
    ("proc", "start"): "kprocess.start",
    ("proc", "exit"): "kprocess.exit",
    ("proc", "signal-send"): "signal.send",
    ("proc", "signal-handle"): "signal.handle",
    ("tcp", "send"): "tcp.sendmsg",
    ("tcp", "receive"): "tcp.receive",
    ("dtrace", "BEGIN"): "begin",
    ("dtrace", "END"): "end",
    ("dtrace", "ERROR"): "error",
    ("", "BEGIN"): "begin",
    ("", "END"): "end",
}


def _from_dtrace(found: re.Match[str]) -> str:
    provider, function, name = found["provider"], found["function"], found["name"]
    suffix = ".return" if name == "return" else ""
    if provider == "syscall":
        return f"syscall.{function or '*'}{suffix}"
    if provider in ("fbt", "") and function:
        return f'kernel.function("{function}"){suffix}'
    if provider in ("profile", "tick") or name.startswith(("tick-", "profile-")):
        return _ticking(name)
    of_process = re.fullmatch(r"pid(\d+|\$\w+)", provider)
    if of_process:
        number = of_process[1] if of_process[1].isdigit() else ""
        library = found["module"].partition(".so")[0]
        below = f'.library("{library}.so*")' if library.startswith("lib") else ""
        whose = f"process({number})" if number else "process"
        return f'{whose}{below}.function("{function or "*"}"){suffix}'
    if provider not in ("", *{key[0] for key in _DTRACE_NAMES}):
        # Providers of programs end in the number of a process.
        of_program = re.split(r"[\d$*]", provider)[0]
        return f'process("PROGRAM"){_mark(of_program, name)}'
    return _DTRACE_NAMES.get((provider, name), "begin")


def _from_tick(found: re.Match[str]) -> str:
    return _ticking(f"{found['kind']}-{found['rest']}")


def _ticking(name: str) -> str:
    text = name.partition("-")[2]
    if name.startswith("profile-"):
        return f"timer.profile.freq.hz({re.sub('[^0-9]', '', text) or 97})"
    return _timer(text, "s" if re.search("[a-z]", text) else "hz")


def _from_ftrace(found: re.Match[str]) -> str:
    return _function(found["symbol"], ".return" if found["kind"] == "r" else "")


def _from_perf(found: re.Match[str]) -> str:
    return tracepoint(f"{found['system']}:{found['event']}")


def _from_filter(found: re.Match[str]) -> str:
    return f"nothing: a filter stands in the body: {{ if ({found['test'].strip()}) … }}"


# Families of bpftrace's probes, and how a probe point begins that does the same.
FAMILIES = {
    "interval": "timer", "profile": "timer.profile", "kprobe": "kernel.function",
    "kretprobe": "kernel.function", "tracepoint": "kernel.trace", "software": "perf.sw",
    "hardware": "perf.hw", "watchpoint": "kernel.data",
}  # fmt: skip

# Variables of other tracers, and what they are called here.
VARIABLES = {
    "comm": "execname()", "execname": "execname()", "pid": "pid()", "tid": "tid()",
    "ppid": "ppid()", "uid": "uid()", "gid": "gid()", "cpu": "cpu()", "nsecs": "ktime_get_ns()",
    "elapsed": "ktime_get_ns() less what it was in probe begin",
    "timestamp": "ktime_get_ns()", "curtask": "task_current()",
    "curthread": "task_current()", "walltimestamp": "gettimeofday_ns()",
    "vtimestamp": "task_utime() + task_stime()", "probefunc": "probefunc()", "probe": "pp()",
    "func": "probefunc()", "probemod": "probemod()", "probename": "pn()", "retval": "$return",
    "args": "$NAME for each argument, $$vars for all of them as text",
    "kstack": "sprint_backtrace()", "ustack": "sprint_ubacktrace()",
    "stackdepth": "callers(-1)", "username": "uid()", "errno": "$return",
    "rand": "randint(n)", "cgroup": "cgroup_id()", "numaid": "addr_to_node(addr())",
    "pcomm": "pexecname()", "jiffies": "jiffies()", "caller": "caller()", "NULL": "0",
    "true": "1, any number but 0", "false": "0", "zonename": '""',
    "curcpu": "cpu()", "usermode": "user_mode()", "exit": "exit()",
    "cwd": 'fullpath_struct_path(&@cast(task_current(), "task_struct")->fs->pwd)',
}  # fmt: skip
VARIABLES.update(
    {
        f"arg{number}": f"$NAME, as stapy -L POINT lists it, by number ulong_arg({number + 1}), "
        f"in a mark $arg{number + 1}"
        for number in range(10)
    }
)

# Their functions, and what to write instead.
FUNCTIONS = {
    "count": "write 'x <<< 1' and read it with @count(x)",
    "sum": "write 'x <<< value' and read it with @sum(x)",
    "avg": "write 'x <<< value' and read it with @avg(x)",
    "min": "write 'x <<< value' and read it with @min(x)",
    "max": "write 'x <<< value' and read it with @max(x)",
    "stats": "write 'x <<< value' and read it with @count(x), @avg(x), @sum(x)",
    "stddev": "write 'x <<< value' and read it with @variance(x)",
    "hist": "write 'x <<< value' and print(@hist_log(x))",
    "quantize": "write 'x <<< value' and print(@hist_log(x))",
    "lhist": "write 'x <<< value' and print(@hist_linear(x, low, high, width))",
    "lquantize": "write 'x <<< value' and print(@hist_linear(x, low, high, width))",
    "str": "kernel_string(pointer) reads text of the kernel, user_string(pointer) of a program",
    "stringof": "kernel_string(pointer) reads text of the kernel",
    "copyinstr": "user_string(pointer) reads text of a program",
    "copyin": "user_string_n(pointer, length) reads memory of a program",
    "trace": "println(value) prints it",
    "printa": "foreach (key in x) printf(…) prints an array; globals that nobody reads are printed",
    "kstack": "print_backtrace() or sprint_backtrace()",
    "stack": "print_backtrace() or sprint_backtrace()",
    "ustack": "print_ubacktrace() or sprint_ubacktrace()",
    "ksym": "symname(address)",
    "sym": "symname(address)",
    "usym": "usymname(address)",
    "func": "symname(address)",
    "clear": "delete x empties an array or a statistic",
    "zero": "delete x empties an array or a statistic",
    "time": "ctime(gettimeofday_s()) is the date and time",
    "strftime": "ctime(gettimeofday_s()) is the date and time",
    "ntop": "ip_ntop(address)",
    "reg": 'register("name")',
    "len": "strlen(text)",
    "strncmp": "substr(text, 0, n) == other",
    "strcontains": "isinstr(text, other)",
    "signal": "with -g: raise(number)",
    "override": "with -g: set $return in a .return probe",
    "exit_code": "exit() ends the session",
    "cgroupid": 'in_cgroup("/PATH") asks for a group of processes, cgroup_id() is its number',
    "kaddr": '&@var("name")',
    "buf": 'printf("%.16M", pointer) prints memory',
    "tracemem": 'printf("%.16M", pointer) prints memory',
    "strerror": "errno_str(number)",
    "errorf": "error(sprintf(…))",
    "warnf": "warn(sprintf(…))",
    "bswap": "ntohs(), ntohl(), ntohll()",
    "inet_ntoa": "ip_ntop(address)",
    "inet_ntop": "format_ipaddr(address, family)",
    "strjoin": "write a . b",
    "strstr": "isinstr(text, other), strpos(text, other)",
    "index": "strpos(text, other)",
    "strtok": "tokenize(text, delimiters)",
    "strtoll": "strtol(text, 10)",
    "lltostr": "sprint(number)",
    "ufunc": "usymname(address)",
    "trunc": "foreach (key in x- limit 10) prints the largest ten",
    "normalize": "divide where it is printed: @sum(x) / 1000",
    "chill": "with -g: mdelay(milliseconds)",
    "rand": "randint(limit)",
    "nsecs": "ktime_get_ns()",
    "sizeof": '@cast_sizeof("name") is the size of a type of the kernel',
    "offsetof": '@offsetof("name", member)',
    "has_key": "write key in x, of several [key, other] in x",
    "delete": "write delete x[key]",
    "unroll": "write for (i = 0; i < n; i++)",
    "uptr": "user_long(address) and its kin read memory of a program",
    "kptr": "kernel_long(address) and its kin read memory of the kernel",
    "path": "fullpath_struct_path(path), of a struct file fullpath_struct_file(task, file)",
    "pton": 'compare texts: ip_ntop(address) == "192.0.2.1"',
    "inet_ntoa6": "format_ipaddr(address, family)",
    "cgroup_path": "cgroup_path() is that of the current task, task_cgroup_path(task) of another",
    "basename": 'tokenize(path, "/"), then tokenize("", "/") until it is "": the last one',
    "progenyof": "with -x or -c: target_set_pid(pid()) is 1 for the target and what it starts",
    "strchr": "strpos(text, character) is its place, -1 for none",
    "stop": "with -g: raise(19)",
    "copyoutstr": "with -g: set_user_string(address, text)",
    "getmajor": "MAJOR(device)",
    "getminor": "MINOR(device)",
    "freopen": "-o FILE on the command line writes elsewhere, -S begins new files",
    "umod": "umodname(address)",
    "mod": "modname(address)",
    # Of C, Python and shells.
    "switch": "there is no switch: if (…) … else if (…) …",
    "elif": "write else if (…)",
    "elsif": "write else if (…)",
    "strcmp": "write a == b, a < b",
    "strcat": "write a . b",
    "atoi": "strtol(text, 10)",
    "snprintf": "sprintf(format, …)",
    "fprintf": "printf(format, …); warn(text) and log(text) print elsewhere",
    "puts": "println(text)",
    "echo": "println(text)",
}


# What `%( … %)` may ask, each with something that it is compared with.
CONDITIONS = {
    "arch": '== "x86_64"',
    "kernel_v": '>= "6.1"',
    "kernel_vr": '== "6.1.0-56-amd64"',
    "systemtap_v": '>= "5.0"',
    "runtime": '== "kernel"',
    "systemtap_privilege": '== "stapusr"',
    "guru_mode": "== 1",
}


def variable_hint(name: str) -> str:
    """Tell what a variable of another tracer is called here, as a hint; "" for other names."""
    here = VARIABLES.get(name)
    return f"in SystemTap's language it is {here}" if here else condition_hint(name)


def function_hint(name: str) -> str:
    """Tell what a function of another tracer is called here, as a hint; "" for other names."""
    return FUNCTIONS.get(name, "") or call_hint(name) or condition_hint(name)


def condition_hint(name: str) -> str:
    """Tell that a word is one of the preprocessor's, as a hint; "" for other names."""
    is_option = re.fullmatch("CONFIG_[A-Z0-9_]+", name) is not None
    compared = '== "y"' if is_option else CONDITIONS.get(name)
    if compared is None:
        return ""
    return (
        f"'{name}' is known in conditions of the preprocessor only: "
        f"%( {name} {compared} %? … %: … %)"
    )


def argument_hint(source: Source | None) -> str:
    """Explain a name that came out of ``$1`` where text was meant; "" for other names."""
    found = re.fullmatch(r"<argument \$(\d+)>", source.name) if source else None
    return f"@{found[1]} is the text of this argument, ${found[1]} its words" if found else ""

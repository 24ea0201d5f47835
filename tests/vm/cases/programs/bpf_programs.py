"""BPF programs made by hand, loaded and run by the words of standard input.  Only Python is needed.

One command a line, each answers with one line:

    load NAME KIND [plain]   NAME is what it is called; plain: without type information
    run NAME TIMES           its last result, by BPF_PROG_TEST_RUN
    background NAME TIMES    the same in a process of its own
    join / stop              wait for those, or end them
    attach NAME              raw tracepoint sys_enter, or a tracing program to its target
    count NAME               how often it ran while kernel.bpf_stats_enabled was 1
    drop NAME                close all that is known of it
    id NAME / tag NAME / say TEXT / sleep SECONDS
    upto ID                  load and drop programs until the next one will have this number
    there ID                 is there a program of this number?
    fault NAME               run the sleeping program in a process, until `resolve`
    resolve                  let it go on
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct
import sys
import time

# Numbers of bpf(2) and userfaultfd(2).
SYSCALL, USERFAULTFD = (280, 282) if os.uname().machine == "aarch64" else (321, 323)
TYPES = {"socket": 1, "xdp": 6, "raw": 17, "tracing": 26, "ext": 28, "syscall": 31}
CONTEXTS = {"socket": "__sk_buff", "xdp": "xdp_md"}
FENTRY, FEXIT = 24, 25
SLEEPABLE = 1 << 4
GPL = ctypes.create_string_buffer(b"GPL")
libc = ctypes.CDLL(None, use_errno=True)
fds: dict[str, list[int]] = {}
children: list[int] = []


def bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    """Call bpf(2); return its result and the attributes as the kernel leaves them."""
    buffer = ctypes.create_string_buffer(attributes.ljust(152, b"\0"), 152)
    result = libc.syscall(SYSCALL, command, buffer, max(len(attributes), 32))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result, buffer.raw


def insn(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    return struct.pack("<BBhi", code, src << 4 | dst, off, imm)


def wide(dst: int, value: int, src: int = 0) -> bytes:
    low, high = value & 0xFFFFFFFF, value >> 32
    return struct.pack("<BBhIBBhI", 0x18, src << 4 | dst, 0, low, 0, 0, 0, high)


def move(dst: int, imm: int) -> bytes:
    return insn(0xB7, dst, 0, 0, imm)


EXIT = insn(0x95)


def btf(functions: list[tuple[str, list[str]]], context: str) -> bytes:
    """Encode types: int, a pointer to the context, then a prototype and a function for each."""
    strings = b"\0"
    types = b""

    def name(text: str) -> int:
        nonlocal strings
        strings += text.encode() + b"\0"
        return len(strings) - len(text) - 1

    types += struct.pack("<IIII", name("int"), 1 << 24, 4, 1 << 24 | 32)  # 1
    types += struct.pack("<III", name(context or "none"), 4 << 24, 0)  # 2
    types += struct.pack("<III", 0, 2 << 24, 2)  # 3
    for at, (function, parameters) in enumerate(functions):
        types += struct.pack("<III", 0, 13 << 24 | len(parameters), 1)
        for parameter in parameters:
            types += struct.pack("<II", name(parameter), 3 if parameter == "ctx" else 1)
        # The program itself is global, so that it can be replaced; its functions are static.
        types += struct.pack("<III", name(function), 12 << 24 | (not at), 4 + 2 * at)
    header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return header + types + strings


def load_btf(data: bytes) -> int:
    text = ctypes.create_string_buffer(data, len(data))
    log = ctypes.create_string_buffer(65536)
    where = ctypes.addressof(text), ctypes.addressof(log)
    try:
        return bpf(18, struct.pack("<QQIII", *where, len(data), 65536, 1))[0]
    except OSError:
        sys.stderr.write(log.value.decode())
        raise


def load(name: str, type: int, code: bytes, starts: list[int], btf_fd: int = 0, flags: int = 0,
         attach: int = 0, function: int = 0, target: int = 0) -> int:  # fmt: skip
    """Call BPF_PROG_LOAD; ``starts`` are the first instructions of its functions."""
    text = ctypes.create_string_buffer(code, len(code))
    info = b"".join(struct.pack("<II", at, 5 + 2 * number) for number, at in enumerate(starts))
    infos = ctypes.create_string_buffer(info, len(info))
    log = ctypes.create_string_buffer(65536)
    attributes = struct.pack("<IIQQIIQII16sII", type, len(code) // 8, ctypes.addressof(text),
                             ctypes.addressof(GPL), 1, 65536, ctypes.addressof(log), 0, flags,
                             name.encode()[:15], 0, attach)  # fmt: skip
    told = (8, ctypes.addressof(infos), len(starts)) if btf_fd else (0, 0, 0)
    attributes += struct.pack("<IIQIIQIIII", btf_fd, *told, 0, 0, 0, function, target, 0)
    try:
        return bpf(5, attributes)[0]
    except OSError:
        sys.stderr.write(log.value.decode())
        raise


def make(name: str, kind: str, plain: bool) -> None:
    """Make the programs that tests know by their kinds."""
    functions = [(name, ["ctx"])]
    starts = [0]
    flags = attach = function = target = 0
    type, context = kind, ""
    if kind == "xdp":
        code = move(0, 2) + EXIT
    elif kind == "socket":  # the length of the packet
        code = insn(0x61, 0, 1) + EXIT
    elif kind == "negative":
        type, code = "socket", move(0, -1) + EXIT
    elif kind == "sub":  # 20 + 22, by a function
        type = "xdp"
        code = move(1, 20) + move(2, 22) + insn(0x85, 0, 1, 0, 1) + EXIT
        code += insn(0xBF, 0, 1) + insn(0x0F, 0, 2) + EXIT
        functions.append(("sub_add_numbers", ["a", "b"]))
        starts.append(4)
    elif kind == "tails":  # a function that calls the program's own kind again, until it may not
        type = "xdp"
        array = bpf(0, struct.pack("<IIII", 3, 4, 4, 1))[0]
        fds.setdefault(f"{name}-array", []).append(array)
        # r6 = ctx; sub(ctx); r0 = 7
        code = insn(0x85, 0, 1, 0, 2) + move(0, 7) + EXIT
        code += wide(2, array, 1) + move(3, 0) + insn(0x85, 0, 0, 0, 12) + move(0, 1) + EXIT
        functions.append(("sub_tail", ["ctx"]))
        starts.append(3)
    elif kind == "raw":
        code = move(0, 0) + EXIT
    elif kind == "sleeps":
        type, flags = "syscall", SLEEPABLE
        code = insn(0xBF, 1, 10) + insn(0x07, 1, 0, 0, -8) + move(2, 8) + wide(3, memory_address)
        code += insn(0x85, 0, 0, 0, 148) + insn(0x79, 0, 10, -8) + EXIT
    elif kind.startswith(("fentry=", "fexit=")):
        how, _, to = kind.partition("=")
        type, target, function = "tracing", fds[to][0], 5
        attach = FENTRY if how == "fentry" else FEXIT
        code = move(0, 0) + EXIT
        plain = True
    elif kind.startswith("ext="):
        type, target, function = "ext", fds[kind[4:]][0], 5
        code = move(0, 1) + EXIT
        context = "xdp_md"
    else:
        raise ValueError(kind)
    btf_fd = 0 if plain else load_btf(btf(functions, context or CONTEXTS.get(type, "")))
    fd = load(name, TYPES[type], code, starts, btf_fd, flags, attach, function, target)
    fds.setdefault(name, []).append(fd)
    if btf_fd:
        os.close(btf_fd)
    if kind == "tails":
        key, value = ctypes.c_uint(0), ctypes.c_uint(fd)
        bpf(2, struct.pack("<IIQQQ", array, 0, ctypes.addressof(key), ctypes.addressof(value), 0))


def run(name: str, times: int) -> int:
    """Call BPF_PROG_TEST_RUN, once for each run; return the last result without sign."""
    data = ctypes.create_string_buffer(64)
    packet = fds[name][0], 0, 64, 0, ctypes.addressof(data), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    if name.startswith("sleep"):
        packet = fds[name][0], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    attributes = struct.pack("<IIIIQQIIIIQQIII", *packet)
    raw = b""
    for _ in range(times):
        _, raw = bpf(10, attributes)
    return struct.unpack_from("<I", raw, 4)[0]


def info(name: str) -> bytes:
    data = ctypes.create_string_buffer(256)
    bpf(15, struct.pack("<IIQ", fds[name][0], 256, ctypes.addressof(data)))
    return data.raw


def in_background(name: str, times: int) -> None:
    child = os.fork()
    if not child:
        os.nice(19)  # consumers have work to do, too
        run(name, times)
        os._exit(0)
    children.append(child)


# Memory whose first touch waits for `resolve`: userfaultfd.
memory = mmap.mmap(-1, 4096)
memory_address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fault_fd = -1


def watch_memory() -> None:
    global fault_fd
    fault_fd = libc.syscall(USERFAULTFD, os.O_CLOEXEC)
    if fault_fd < 0:
        raise OSError(ctypes.get_errno(), "userfaultfd")
    fcntl.ioctl(fault_fd, 0xC018AA3F, bytearray(struct.pack("<QQQ", 0xAA, 0, 0)))
    fcntl.ioctl(fault_fd, 0xC020AA00, bytearray(struct.pack("<QQQQ", memory_address, 4096, 1, 0)))


def fault(name: str) -> None:
    """In a thread: a forked process would have memory that nobody watches."""
    import threading

    watch_memory()
    thread = threading.Thread(target=run, args=(name, 1), daemon=True)
    thread.start()
    os.read(fault_fd, 32)  # it sleeps now
    threads.append(thread)


threads: list = []


def resolve() -> None:
    page = mmap.mmap(-1, 4096)
    page.write(struct.pack("<Q", 1234))
    source = ctypes.addressof(ctypes.c_char.from_buffer(page))
    copy = struct.pack("<QQQQq", memory_address, source, 4096, 0, 0)
    fcntl.ioctl(fault_fd, 0xC028AA03, bytearray(copy))
    threads.pop().join()


def command(words: list[str]) -> str:
    what, *rest = words
    if what == "load":
        make(rest[0], rest[1], "plain" in rest[2:])
    elif what == "run":
        return f"{rest[0]} gave {run(rest[0], int(rest[1]))}"
    elif what == "background":
        in_background(rest[0], int(rest[1]))
    elif what == "join":
        number = len(children)
        while children:
            os.waitpid(children.pop(), 0)
        return f"joined {number}"
    elif what == "stop":
        while children:
            os.kill(children[-1], 9)
            os.waitpid(children.pop(), 0)
    elif what == "attach":
        name = ctypes.create_string_buffer(b"sys_enter")
        where = 0 if len(rest) > 1 else ctypes.addressof(name)
        fds[rest[0]].append(bpf(17, struct.pack("<QII", where, fds[rest[0]][0], 0))[0])
    elif what == "count":
        return f"{rest[0]} ran {struct.unpack_from('<Q', info(rest[0]), 200)[0]} times"
    elif what == "drop":
        for fd in fds.pop(rest[0]):
            os.close(fd)
    elif what == "id":
        return f"{rest[0]} is {struct.unpack_from('<I', info(rest[0]), 4)[0]}"
    elif what == "upto":
        last = 0
        while last < int(rest[0]) - 1:
            make("dummy", "xdp", True)
            last = struct.unpack_from("<I", info("dummy"), 4)[0]
            os.close(fds.pop("dummy")[0])
    elif what == "there":
        try:
            os.close(bpf(13, struct.pack("<II", int(rest[0]), 0))[0])
        except OSError:
            return f"{rest[0]} is not there"
        return f"{rest[0]} is there"
    elif what == "tag":
        return f"{rest[0]} has {info(rest[0])[8:16].hex()}"
    elif what == "sleep":
        time.sleep(float(rest[0]))
    elif what == "fault":
        fault(rest[0])
    elif what == "resolve":
        resolve()
    elif what == "say":
        return " ".join(rest)
    else:
        raise ValueError(what)
    return f"{what} done"


def main() -> None:
    for line in sys.stdin:
        if line.strip():
            print(command(line.split()), flush=True)


if __name__ == "__main__":
    main()

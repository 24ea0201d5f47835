"""The BPF programs that run in this machine's kernel, by the system call bpf(2).

Numbers and layouts are those of ``linux/bpf.h``, which the kernel keeps: what a
structure gained later lies behind what is read here.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from stapy.arch import host, host_name
from stapy.kernel.target import Kernel
from stapy.record import Record, new

# Of those that have no record.
_SYSCALLS = {"riscv": 280, "s390": 351, "powerpc": 361}
_PROG_GET_NEXT_ID, _PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD = 11, 13, 15
_INFO_BYTES = 256
_TAG_BYTES = 8
_MAX_FUNCTIONS = 256
# Of struct bpf_prog_info.
_TAG, _NAME, _NR_TAGS, _TAGS = 8, 64, 180, 184


class BpfError(Exception):
    """Why the programs cannot be told."""


class BpfProgram(Record):
    """One program; ``short`` is what the kernel keeps of its name, 15 characters."""

    id: int
    kind: str
    name: str
    short: str
    functions: list[str] = new(list)


def running(kernel: Kernel, kinds: list[str]) -> list[BpfProgram]:
    """List all programs in the order of their numbers; ``kinds`` are the names of their types.

    Raises `BpfError` when the kernel is not the running one or does not answer us.
    """
    if not kernel.is_running:
        raise BpfError(f"only those of the running kernel are known, not those of {kernel.release}")
    here = host()
    number = here.bpf_call if here is not None else _SYSCALLS.get(host_name())
    if number is None:
        raise BpfError(f"bpf(2) has no number known for {host_name()}")
    ask = _Asker(number)
    symbols = _symbols()
    found: list[BpfProgram] = []
    last = 0
    while True:
        data = ask(_PROG_GET_NEXT_ID, struct.pack("II", last, 0), may_be_absent=True)
        if data is None:
            return found
        last = struct.unpack_from("I", data, 4)[0]
        program = _program(ask, last, kinds, symbols)
        if program is not None:
            found.append(program)


class _Asker:
    """The system call, with errors in words."""

    def __init__(self, number: int) -> None:
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        self._number = number
        self.result = 0

    def __call__(
        self, command: int, attributes: bytes, may_be_absent: bool = False
    ) -> bytes | None:
        """Run a command of bpf(2) and return the attributes as the kernel leaves them.

        Returns None when the object is absent and ``may_be_absent``; raises `BpfError` for other
        errors.
        """
        buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
        length = ctypes.c_uint(max(16, len(attributes)))
        self.result = self._call(ctypes.c_long(self._number), command, buffer, length)
        if self.result >= 0:
            return buffer.raw
        error = ctypes.get_errno()
        if may_be_absent and error == 2:
            return None
        if error in (1, 13):
            raise BpfError("only root (CAP_SYS_ADMIN) may ask the kernel for them")
        if error == 38:
            raise BpfError("this kernel is built without bpf(2)")
        raise BpfError(f"bpf(2): {os.strerror(error)}")


def _program(ask: _Asker, id: int, kinds: list[str], symbols: dict[str, str]) -> BpfProgram | None:
    if ask(_PROG_GET_FD_BY_ID, struct.pack("II", id, 0), may_be_absent=True) is None:
        return None  # gone meanwhile
    fd = ask.result
    try:
        tags = ctypes.create_string_buffer(_TAG_BYTES * _MAX_FUNCTIONS)
        info = ctypes.create_string_buffer(_INFO_BYTES)
        struct.pack_into("I", info, _NR_TAGS, _MAX_FUNCTIONS)
        struct.pack_into("Q", info, _TAGS, ctypes.addressof(tags))
        where = struct.pack("IIQ", fd, _INFO_BYTES, ctypes.addressof(info))
        ask(_OBJ_GET_INFO_BY_FD, where)
    finally:
        os.close(fd)
    kind = struct.unpack_from("I", info, 0)[0]
    short = info.raw[_NAME : _NAME + 16].partition(b"\0")[0].decode("utf-8", "replace")
    count = min(struct.unpack_from("I", info, _NR_TAGS)[0], _MAX_FUNCTIONS)
    ends = range(0, count * _TAG_BYTES, _TAG_BYTES)
    all_tags = [tags.raw[at : at + _TAG_BYTES].hex() for at in ends]
    name = symbols.get(info.raw[_TAG : _TAG + _TAG_BYTES].hex(), short)
    if not name.startswith(short):
        name = short  # another program with the same instructions
    functions = [symbols.get(tag, "") for tag in all_tags[1:]]
    return BpfProgram(
        id,
        kinds[kind] if kind < len(kinds) else str(kind),
        name,
        short,
        [name, *(function for function in functions if function)],
    )


def _symbols() -> dict[str, str]:
    """Map tags to names, from the kernel's symbols ``bpf_prog_<tag>_<name>``."""
    found = {}
    try:
        text = Path("/proc/kallsyms").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    start = len("bpf_prog_")
    for line in text.splitlines():
        if not line.endswith("[bpf]"):
            continue
        name = line.split()[2]
        if name.startswith("bpf_prog_") and len(name) > start + 17:
            found[name[start : start + 16]] = name[start + 17 :]
    return found

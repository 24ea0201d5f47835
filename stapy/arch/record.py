"""The record of an architecture."""

from __future__ import annotations

from stapy.record import Record


class Emulator(Record):
    """How QEMU makes a machine of an architecture and boots its kernel.

    ``program`` comes with Debian's package ``package``; ``board`` and ``processor`` are its words
    for ``-M`` and ``-cpu``, the processor an emulated one.  ``console`` is the kernel's name of
    the serial line; ``takes_nmi`` tells that QEMU can send it an NMI.  ``options`` are what its
    command line says besides on such a machine.  ``image`` is what the packages call a kernel's
    image in ``/boot``.
    """

    program: str
    package: str
    board: str
    processor: str
    console: str
    takes_nmi: bool
    options: tuple[str, ...]
    image: str


class Architecture(Record):
    """One architecture.

    ``name`` has SystemTap's spelling, ``machines`` that of ``uname -m``, ``debian`` that of
    packages.  ``make`` is ``ARCH`` for a kernel's make, ``source`` its folder below ``arch/``,
    ``config`` the option that every kernel of it has, ``images`` the images in a build tree.
    ``elf`` is its ``e_machine``, ``slots`` are the types of relocations by which slots get the
    functions of other files, ``relocations`` maps a type to the size of the number and
    whether it is relative.  ``cross`` begins the names of the compiler's programs elsewhere.

    Registers are named as members of ``struct pt_regs`` in C.  ``registers`` has them by their
    numbers in DWARF, the other numbers are such: of the stack pointer, the frame pointer, the
    program counter, and of the link register, None when calls push the return address.
    ``arguments`` and ``syscall_arguments`` are those that pass the first ones, ``results`` the
    numbers of those that return a value, ``kept`` those that functions leave as they are.
    ``vectors`` is the number of the first vector register and how many pass arguments; with
    ``reads_vectors`` probes of programs read them.  ``stack_arguments`` is the distance in bytes
    from the stack pointer at a function's entry to the first argument there.  ``thread_head`` is
    the distance from a thread's base to the thread-local variables of its program, None where
    they lie below it.  ``saved`` are the members that ftrace keeps at every function's entry.

    With ``passes_large_by_address`` structs of more than two words are passed as addresses of
    copies; the address at which such a result is wanted comes in ``result_address``, None for
    the first argument's register, which then comes back as the result.

    ``wrappers`` are the prefixes of functions that take a system call's registers: native, then
    of 32 bits.  ``bpf_call`` is the number of bpf(2).  ``per_cpu_from_zero`` tells that per-CPU
    variables of the kernel are counted from 0, where no address is one of the kernel.
    ``watchpoints`` is how many debug registers every machine has that probes can use.
    ``refused`` are the families whose probes are not made for it, or components of their points
    (``uprobe.callee``); with ``reads_dwarf`` probes find what the kernel's debug information
    describes.  With ``follows_code`` the
    code of programs is followed: breakpoints lie behind landing marks where nobody sees it, and a
    function that is chosen at the start of a program stands for those that may be.
    """

    name: str
    machines: tuple[str, ...]
    debian: str
    make: str
    source: str
    config: str
    images: tuple[str, ...]
    elf: int
    slots: tuple[int, int]
    relocations: dict[int, tuple[int, bool]]
    cross: str
    registers: tuple[str, ...]
    stack_pointer: int
    frame_pointer: int
    program_counter: int
    link: int | None
    arguments: tuple[str, ...]
    syscall_arguments: tuple[str, ...]
    results: tuple[int, int]
    kept: frozenset[int]
    vectors: tuple[int, int]
    reads_vectors: bool
    stack_arguments: int
    thread_head: int | None
    saved: tuple[str, ...]
    passes_large_by_address: bool
    result_address: int | None
    wrappers: tuple[str, ...]
    bpf_call: int
    per_cpu_from_zero: bool
    watchpoints: int
    refused: tuple[str, ...]
    reads_dwarf: bool
    follows_code: bool
    machine: Emulator

    @property
    def argument_numbers(self) -> tuple[int, ...]:
        """The numbers in DWARF of the registers that pass arguments."""
        return tuple(map(self.registers.index, self.arguments))

    @property
    def result(self) -> str:
        """The member that has a function's result."""
        return self.registers[self.results[0]]

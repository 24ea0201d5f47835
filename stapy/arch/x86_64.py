"""x86-64: the System V calling convention, and the psABI's numbers."""

from stapy.arch.record import Architecture, Emulator

X86_64 = Architecture(
    name="x86_64",
    machines=("x86_64",),
    debian="amd64",
    make="x86_64",
    source="x86",
    config="CONFIG_X86_64",
    images=("arch/x86/boot/bzImage",),
    elf=62,
    slots=(6, 7),
    relocations={
        0: (0, False), 1: (8, False), 2: (4, True), 10: (4, False), 11: (4, False),
        12: (2, False), 14: (1, False), 24: (8, True),
    },
    cross="x86_64-linux-gnu-",
    registers=(
        *("ax", "dx", "cx", "bx", "si", "di", "bp", "sp"),
        *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip"),
    ),
    stack_pointer=7,
    frame_pointer=6,
    program_counter=16,
    link=None,
    arguments=("di", "si", "dx", "cx", "r8", "r9"),
    syscall_arguments=("di", "si", "dx", "r10", "r8", "r9"),
    results=(0, 1),
    kept=frozenset((3, 6, 12, 13, 14, 15)),
    vectors=(17, 8),
    reads_vectors=True,
    stack_arguments=8,  # above the return address
    thread_head=None,
    # Arguments, and what the return address is found by.
    saved=("di", "si", "dx", "cx", "r8", "r9", "sp", "ip"),
    passes_large_by_address=False,
    result_address=None,
    wrappers=("__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_"),
    bpf_call=321,
    per_cpu_from_zero=True,
    watchpoints=4,
    refused=(),
    reads_dwarf=True,
    follows_code=True,
    machine=Emulator(
        program="qemu-system-x86_64",
        package="qemu-system-x86",
        board="pc",
        # Without erms the kernel clears and copies pages by words: the emulator needs a round of
        # its loop for each byte otherwise, a third of the time that a program's start takes.
        processor="max,-la57,-erms",
        console="ttyS0",
        takes_nmi=True,
        options=("tsc=reliable", "no_timer_check", "unknown_nmi_panic"),
        image="vmlinuz",
    ),
)  # fmt: skip

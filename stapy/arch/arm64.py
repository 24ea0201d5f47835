"""arm64: the procedure call standard AAPCS64, and the numbers of its DWARF and ELF documents."""

from stapy.arch.record import Architecture, Emulator

_GENERAL = tuple(f"regs[{number}]" for number in range(31))

ARM64 = Architecture(
    name="arm64",
    machines=("aarch64",),
    debian="arm64",
    make="arm64",
    source="arm64",
    config="CONFIG_ARM64",
    images=("arch/arm64/boot/Image.gz", "arch/arm64/boot/Image"),
    elf=183,
    slots=(1025, 1026),
    relocations={
        0: (0, False), 256: (0, False), 257: (8, False), 258: (4, False), 259: (2, False),
        260: (8, True), 261: (4, True),
    },
    cross="aarch64-linux-gnu-",
    registers=(*_GENERAL, "sp", "pc"),
    stack_pointer=31,
    frame_pointer=29,
    program_counter=32,
    link=30,
    arguments=_GENERAL[:8],
    syscall_arguments=_GENERAL[:6],
    results=(0, 1),
    kept=frozenset(range(19, 30)),
    vectors=(64, 8),
    reads_vectors=False,
    stack_arguments=0,  # the return address is in a register
    thread_head=16,
    # struct ftrace_regs: arguments, where a large result goes, frame, link, stack, place.
    saved=(*_GENERAL[:9], "regs[29]", "regs[30]", "sp", "pc"),
    passes_large_by_address=True,
    result_address=8,
    wrappers=("__arm64_sys_", "__arm64_compat_sys_"),
    bpf_call=280,
    per_cpu_from_zero=False,
    # The processor traps before the access, and the kernel steps over it only where perf's own
    # handler is told of it: with another one the same instruction would trap for ever.
    watchpoints=0,
    refused=(),
    reads_dwarf=False,
    follows_code=False,
    machine=Emulator(
        program="qemu-system-aarch64",
        package="qemu-system-arm",
        board="virt,gic-version=3",
        # Signed pointers cost the emulator a hash each time.
        processor="max,pauth-impdef=on,lpa2=off",
        console="ttyAMA0",
        takes_nmi=False,
        options=(),
        image="vmlinuz",
    ),
)  # fmt: skip

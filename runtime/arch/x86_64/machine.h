/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAPY_ARCH_X86_64_MACHINE_H
#define STAPY_ARCH_X86_64_MACHINE_H

#include <asm/fsgsbase.h>

#define STAPY_ARGUMENT_REGISTERS 6

/* The registers that take arguments, in their order. */
static __always_inline void stapy_arguments(const struct pt_regs *regs, unsigned long *to)
{
	to[0] = regs->di;
	to[1] = regs->si;
	to[2] = regs->dx;
	to[3] = regs->cx;
	to[4] = regs->r8;
	to[5] = regs->r9;
}

/* What the stack pointer was before the call, at a function's first instruction. */
static __always_inline unsigned long stapy_entry_frame(const struct pt_regs *regs)
{
	return regs->sp + sizeof(long); /* just behind the return address */
}

/* What a program's stack pointer was at the entry of the function that has just returned. */
static __always_inline unsigned long stapy_user_entry_stack(const struct pt_regs *regs)
{
	return regs->sp - sizeof(long); /* the return has popped the return address */
}

/* Where a function returns to that has no frame yet: its frame has it from the first instruction on. */
static __always_inline unsigned long stapy_link_before_frame(const struct pt_regs *regs)
{
	return 0;
}

/* Were interrupts off where these registers were taken? */
static __always_inline bool stapy_regs_irqs_off(const struct pt_regs *regs)
{
	return irqs_disabled_flags(regs->flags);
}

/* Where a thread's own variables are, of the program that runs now. */
static __always_inline unsigned long stapy_thread_base(void)
{
	return x86_fsbase_read_cpu();
}

#endif

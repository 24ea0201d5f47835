/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAPY_ARCH_ARM64_MACHINE_H
#define STAPY_ARCH_ARM64_MACHINE_H

#include <asm/sysreg.h>

#define STAPY_ARGUMENT_REGISTERS 8

/* The registers that take arguments, in their order. */
static __always_inline void stapy_arguments(const struct pt_regs *regs, unsigned long *to)
{
	unsigned int i;

	for (i = 0; i < STAPY_ARGUMENT_REGISTERS; i++)
		to[i] = regs->regs[i];
}

/* What the stack pointer was before the call, at a function's first instruction. */
static __always_inline unsigned long stapy_entry_frame(const struct pt_regs *regs)
{
	return regs->sp; /* the return address is in a register */
}

/* Were interrupts off where these registers were taken? */
static __always_inline bool stapy_regs_irqs_off(const struct pt_regs *regs)
{
	return !interrupts_enabled(regs);
}

/* Where a thread's own variables are, of the program that runs now. */
static __always_inline unsigned long stapy_thread_base(void)
{
	return read_sysreg(tpidr_el0);
}

#endif

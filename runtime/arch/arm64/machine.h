/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAPY_ARCH_ARM64_MACHINE_H
#define STAPY_ARCH_ARM64_MACHINE_H

#include <linux/ctype.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif

#include <asm/sysreg.h>

#include "hooks.h"

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

/* What a program's stack pointer was at the entry of the function that has just returned. */
static __always_inline unsigned long stapy_user_entry_stack(const struct pt_regs *regs)
{
	return regs->sp;
}

/* The link register, or what it was before return probes of this call have put their hook there. */
static inline unsigned long stapy_unhooked(const struct pt_regs *regs)
{
	const struct llist_node *hooks = stapy_hooks(current);

	return stapy_hooked(&hooks, regs->regs[29], regs->regs[30]);
}

#define STAPY_BEFORE_FRAME 8 /* bytes: a landing mark, the signing of the return address */

/*
 * Where a function returns to whose frame is not made yet, so that walks do not meet its caller;
 * 0 for one that has a frame.
 */
static inline unsigned long stapy_link_before_frame(const struct pt_regs *regs)
{
	char name[KSYM_SYMBOL_LEN], *offset;
	unsigned long distance = 0;

	sprint_symbol(name, regs->pc);
	offset = strstr(name, "+0x");
	if (!offset)
		return 0;
	for (offset += strlen("+0x"); isxdigit(*offset) && distance <= STAPY_BEFORE_FRAME; offset++)
		distance = distance << 4 | hex_to_bin(*offset);
	return distance > STAPY_BEFORE_FRAME ? 0 : stapy_unhooked(regs) | GENMASK_ULL(63, vabits_actual);
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

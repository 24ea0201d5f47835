/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of the current process. */
#ifndef STAPY_USER_UNWIND_H
#define STAPY_USER_UNWIND_H

struct stapy_context;

/* Registers of the process that runs this, as it was in user mode; NULL: there is none. */
struct pt_regs *stapy_user_registers(struct stapy_context *c);
/*
 * Addresses of the stack of the current process, innermost first, at most max and at most
 * MAXBACKTRACE. They are kept until the hit ends, so asking again is cheap.
 */
unsigned int stapy_user_stack(struct stapy_context *c, const unsigned long **to,
			      unsigned int max);
/*
 * The same from given registers; the addresses last until the next call of either. No link register
 * is among them: where the innermost function has not stored its return address yet the walk ends.
 */
unsigned int stapy_user_stack_from(struct stapy_context *c, unsigned long pc, unsigned long sp,
				   unsigned long fp, const unsigned long **to);

/* Listed as a family: it begins before the begin probes, and takes the consumer's tables. */
extern const struct stapy_family stapy_user_stacks;

#endif

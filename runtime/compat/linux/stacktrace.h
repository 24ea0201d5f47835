/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding from a set of registers: stack_trace_save_regs() is not exported,
 * but x86 exports the unwinder itself.
 */
#ifndef STAPY_COMPAT_STACKTRACE_H
#define STAPY_COMPAT_STACKTRACE_H

#ifdef CONFIG_X86_64
#include <asm/unwind.h>

/* The callers of the place where the registers were taken. */
static inline unsigned int stapy_unwind(struct pt_regs *regs, unsigned long *to, unsigned int max)
{
	struct unwind_state state;
	unsigned int n = 0;

	for (unwind_start(&state, current, regs, NULL); n < max && !unwind_done(&state);
	     unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);

		if (!address)
			break;
		to[n++] = address;
	}
	return n;
}
#else
/* Without registers the trace starts in here: leave out what is deeper than the probed place. */
static inline unsigned int stapy_unwind(struct pt_regs *regs, unsigned long *to, unsigned int max)
{
	unsigned int n = stack_trace_save(to, max, 0), i;

	for (i = 0; i < n; i++) {
		if (to[i] == instruction_pointer(regs)) {
			memmove(to, to + i + 1, (n - i - 1) * sizeof(*to));
			return n - i - 1;
		}
	}
	return n;
}
#endif

#endif

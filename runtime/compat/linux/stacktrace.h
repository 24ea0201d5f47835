/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding from a set of registers: stack_trace_save_regs() is not exported,
 * but x86 exports the unwinder itself.
 */
#ifndef STAPY_COMPAT_STACKTRACE_H
#define STAPY_COMPAT_STACKTRACE_H

#ifdef CONFIG_X86_64
#include <asm/unwind.h>

#ifdef CONFIG_UNWINDER_ORC
/* What the unwinder makes of a place depends on the place alone, and its state has a stack pointer. */
#define STAPY_UNWIND_STEPS 1
#endif

/*
 * The kernel looks each address up again among its code, which the unwinder did already. Behind
 * the way into the kernel it gives the place in the process, which is none of this stack: 0.
 */
static inline unsigned long stapy_unwound(struct unwind_state *state)
{
#ifdef CONFIG_UNWINDER_ORC
	if (likely(!state->error))
		return (long)state->ip < 0 ? state->ip : 0;
#endif
	return unwind_get_return_address(state);
}

/* Where the stack in use begins and ends; false when it is none that the kernel knows. */
static inline bool stapy_stack_bounds(unsigned long *low, unsigned long *high)
{
	struct unwind_state state;

	unwind_start(&state, current, NULL, NULL);
	*low = (unsigned long)state.stack_info.begin;
	*high = (unsigned long)state.stack_info.end;
	return state.stack_info.type != STACK_TYPE_UNKNOWN && *low < *high;
}

/*
 * Return addresses of a stack: behind the place where `regs` were taken, or of a
 * task that sleeps; of the caller itself without either.
 */
static inline unsigned int stapy_unwind(struct task_struct *task, struct pt_regs *regs,
					unsigned long *to, unsigned int max)
{
	unsigned long *first = regs || task != current ? NULL : __builtin_frame_address(0);
	struct unwind_state state;
	unsigned int n = 0;

	if (!max)
		return 0;
	for (unwind_start(&state, task, regs, first); !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long address = stapy_unwound(&state);

		if (!address)
			break;
		/* Of the way into a handler, this module's part is of no interest. */
		if (first && !n && within_module(address, THIS_MODULE))
			continue;
		to[n++] = address;
		if (n == max)
			break;
	}
	return n;
}
#else
static inline bool stapy_stack_bounds(unsigned long *low, unsigned long *high)
{
	return false;
}

/* Without registers the trace starts in here: leave out what is deeper than the probed place. */
static inline unsigned int stapy_unwind(struct task_struct *task, struct pt_regs *regs,
					unsigned long *to, unsigned int max)
{
	unsigned int n = task == current ? stack_trace_save(to, max, 0) : 0, i;

	for (i = 0; i < n; i++) {
		if (regs ? to[i] == instruction_pointer(regs) :
		    !within_module(to[i], THIS_MODULE)) {
			i += !!regs;
			memmove(to, to + i, (n - i) * sizeof(*to));
			return n - i;
		}
	}
	return n;
}
#endif

#endif

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
/* Frames from a probed place to the runtime: an exception, the probe's handling, the handler. */
#define STAPY_MOST_DEEPER 64

static inline bool stapy_stack_bounds(unsigned long *low, unsigned long *high)
{
#if defined(CONFIG_ARM64) && defined(CONFIG_VMAP_STACK)
	/* All stacks but the one for overflows are of one size, and begin at a multiple of it. */
	*low = round_down(current_stack_pointer, THREAD_SIZE);
	*high = *low + THREAD_SIZE;
	return true;
#else
	return false;
#endif
}

#ifdef CONFIG_ARM64
#include "../../arch/arm64/hooks.h"

/*
 * The bits above an address of the kernel are all set; those of a signed one are the signature. How
 * many there are depends on the processor, too, where the kernel is made for 52 bits.
 */
static inline unsigned long stapy_unsigned(unsigned long address)
{
	return address | GENMASK_ULL(63, vabits_actual);
}

/* Of a task that sleeps: the record at a frame pointer is the caller's, and where to return to. */
static inline unsigned int stapy_unwind_other(struct task_struct *task, unsigned long *to,
					      unsigned int max)
{
	unsigned long low = (unsigned long)task_stack_page(task), high = low + THREAD_SIZE;
	unsigned long frame = thread_saved_fp(task), record[2];
	const struct llist_node *hooks = stapy_hooks(task);
	unsigned int n = 0;

	if (max)
		to[n++] = stapy_unsigned(thread_saved_pc(task));
	while (n < max && frame >= low && frame <= high - sizeof(record) &&
	       !(frame & (sizeof(long) - 1)) &&
	       !copy_from_kernel_nofault(record, (void *)frame, sizeof(record)) && record[1]) {
		to[n++] = stapy_unsigned(stapy_hooked(&hooks, record[0], record[1]));
		low = frame + sizeof(record); /* callers' frames lie above */
		frame = record[0];
	}
	return n;
}
#else
static inline unsigned int stapy_unwind_other(struct task_struct *task, unsigned long *to,
					      unsigned int max)
{
	return 0;
}
#endif

/*
 * The trace starts in here: what is deeper than the probed place is the kernel's way to us. It is
 * looked for piece by piece, since it may take all the room.
 */
static inline unsigned int stapy_unwind(struct task_struct *task, struct pt_regs *regs,
					unsigned long *to, unsigned int max)
{
	unsigned int deeper, n, i;

	if (task != current)
		return stapy_unwind_other(task, to, max);
	for (deeper = 0; deeper < STAPY_MOST_DEEPER; deeper += n) {
		n = stack_trace_save(to, max, deeper);
		for (i = 0; i < n; i++)
			if (regs ? to[i] == instruction_pointer(regs) :
			    !within_module(to[i], THIS_MODULE))
				return stack_trace_save(to, max, deeper + i + !!regs);
		if (n < max)
			break;
	}
	return 0;
}
#endif

#endif

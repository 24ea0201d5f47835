// SPDX-License-Identifier: GPL-2.0-or-later
/* Who called a function of a program: return addresses, compared with those of known calls. */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "../arch/user_frame.h"
#include "../hit.h"
#include "callers.h"

#define PENDING 64			/* returns that the kernel keeps for a thread */

#define RULE 4				/* numbers that say how a frame is left */
#define ROW (1 + RULE)			/* those of one alternative */

struct user_frame {
	unsigned long stack, base;	/* the stack pointer and the frame pointer in it */
	unsigned long link;		/* what the innermost one returns to, until that is stored */
	int back;			/* from the stack pointer to where that is stored; 0: it is not */
};

/* Leave a frame by its numbers; what it returns to is below the stack pointer then, or in a register. */
static bool leave_frame(struct user_frame *frame, const int *rule)
{
	unsigned long address = (rule[0] ? frame->base : frame->stack) + rule[1];

	frame->stack = address;
	frame->back = rule[3];
	return !rule[2] || !stapy_peek_user(&frame->base, address + rule[2], sizeof(long));
}

/* The address that a frame returns to which has been left. */
static bool returns_to(const struct user_frame *frame, unsigned long *address)
{
	*address = frame->link;
	if (frame->back && stapy_peek_user(address, frame->stack + frame->back, sizeof(long)))
		return false;
	*address = stapy_user_unsigned(*address);
	return true;
}

static const int *call_to(const int *rows, unsigned long place, unsigned long address)
{
	const int *row = rows + 1;
	int i;

	for (i = 0; i < rows[0]; i++, row += ROW)
		if (place + row[0] == address)
			return row;
	return NULL;
}

/*
 * The address that a probed return has put aside for a call's own, or 0. While several
 * returns are handled at once (tail calls), the kernel's list begins with those it has freed (6.1).
 */
static unsigned long hidden_by_return_probe(unsigned long where)
{
	const struct uprobe_task *utask = current->utask;
	const struct return_instance *next = utask ? READ_ONCE(utask->return_instances) : NULL;
	struct return_instance call;
	unsigned int i;

	for (i = 0; next && i < PENDING; i++, next = call.next) {
		if (copy_from_kernel_nofault(&call, next, sizeof(call)))
			return 0;
		if (call.stack == where)
			return stapy_user_unsigned(call.orig_ret_vaddr);
	}
	return 0;
}

/* What the call of a frame that has been left returns to, if it is meant. */
static const int *call_of(const struct user_frame *frame, const int *rows, unsigned long place)
{
	unsigned long address;
	const int *row;

	if (!returns_to(frame, &address))
		return NULL;
	row = call_to(rows, place, address);
	/*
	 * What the kernel puts there is the first address of a page. It is looked at, for the kernel
	 * also keeps the calls that longjmp() and exceptions have left.
	 */
	if (!row && !(address & ~PAGE_MASK)) {
		/* By the stack pointer at the function's entry. */
		address = hidden_by_return_probe(frame->stack -
						 (STAPY_USER_LINK ? 0 : sizeof(long)));
		row = address ? call_to(rows, place, address) : NULL;
	}
	return row;
}

bool stapy_user_called_by(const int *callers, unsigned long place, const struct pt_regs *regs,
			  bool is_return)
{
	struct user_frame frame = { .stack = user_stack_pointer((struct pt_regs *)regs),
				    .base = frame_pointer((struct pt_regs *)regs),
				    .link = stapy_user_link(regs) };
	unsigned int frames = callers[0], i;
	const int *rows = callers + 1 + RULE;

	if (frames > STAPY_MAX_USER_CALLERS)
		return false;
	if (!is_return && !leave_frame(&frame, callers + 1))
		return false;
	for (i = 0; i < frames; i++, rows += ROW * rows[0] + 1) {
		const int *row;

		if (!i && is_return)
			row = call_to(rows, place, instruction_pointer((struct pt_regs *)regs));
		else
			row = call_of(&frame, rows, place);
		if (!row || (i + 1 < frames && !leave_frame(&frame, row + 1)))
			return false;
	}
	return true;
}

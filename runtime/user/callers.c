// SPDX-License-Identifier: GPL-2.0-or-later
/* Who called a function of a program: return addresses, compared with those of known calls. */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "../hit.h"
#include "callers.h"

#define PENDING 64			/* returns that the kernel keeps for a thread */

struct user_frame {
	unsigned long stack, base;	/* the stack pointer and the frame pointer in it */
};

/* Leave a frame by its three numbers; what it returns to is below the stack pointer then. */
static bool leave_frame(struct user_frame *frame, const int *rule)
{
	unsigned long address = (rule[0] ? frame->base : frame->stack) + rule[1];

	frame->stack = address;
	return !rule[2] || !stapy_peek_user(&frame->base, address + rule[2], sizeof(long));
}

static const int *call_to(const int *rows, unsigned long place, unsigned long address)
{
	const int *row = rows + 1;
	int i;

	for (i = 0; i < rows[0]; i++, row += 4)
		if (place + row[0] == address)
			return row;
	return NULL;
}

/*
 * The address that a probed return has put aside for one on the stack, or 0. While several
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
			return call.orig_ret_vaddr;
	}
	return 0;
}

/* What the call returns to whose return address is at a place of the stack, if it is meant. */
static const int *call_at(const int *rows, unsigned long place, unsigned long where)
{
	unsigned long address;
	const int *row;

	if (stapy_peek_user(&address, where, sizeof(address)))
		return NULL;
	row = call_to(rows, place, address);
	if (!row) {
		address = hidden_by_return_probe(where);
		row = address ? call_to(rows, place, address) : NULL;
	}
	return row;
}

bool stapy_user_called_by(const int *callers, unsigned long place, const struct pt_regs *regs,
			  bool is_return)
{
	struct user_frame frame = { .stack = user_stack_pointer((struct pt_regs *)regs),
				    .base = frame_pointer((struct pt_regs *)regs) };
	unsigned int frames = callers[0], i;
	const int *rows = callers + 4;

	if (frames > STAPY_MAX_USER_CALLERS)
		return false;
	if (!is_return && !leave_frame(&frame, callers + 1))
		return false;
	for (i = 0; i < frames; i++, rows += 4 * rows[0] + 1) {
		const int *row;

		if (!i && is_return)
			row = call_to(rows, place, instruction_pointer((struct pt_regs *)regs));
		else
			row = call_at(rows, place, frame.stack - sizeof(long));
		if (!row || (i + 1 < frames && !leave_frame(&frame, row + 1)))
			return false;
	}
	return true;
}

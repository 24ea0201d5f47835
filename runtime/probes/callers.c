// SPDX-License-Identifier: GPL-2.0-or-later
/* Who called a function: return addresses on the stack, compared with those of known calls. */
#include "../hit.h"
#include "../compat/linux/kprobes.h"
#include "callers.h"

/* Is this return address one of the frame's alternatives? */
static notrace bool one_of(const int *frame, unsigned long place, unsigned long address)
{
	int i;

	for (i = 1; i <= frame[0]; i++)
		if (place + frame[i] == address)
			return true;
	return false;
}

bool notrace stapy_called_by(const int *callers, unsigned long address, struct pt_regs *regs)
{
	unsigned long stack[STAPY_MAX_CALLERS], top;
	unsigned int frames = callers[0], i;
	const int *frame = callers + 2;

	if (frames > STAPY_MAX_CALLERS)
		return false;
	if (callers[1]) {
		address = stapy_function_start(address);
		/* Nearly always one look is enough: the return address itself. */
		if (frames == 1 &&
		    !stapy_peek_kernel(&top, kernel_stack_pointer(regs), sizeof(top)) &&
		    one_of(frame, address, top))
			return true;
	}
	/* A return probe may have put another address there, which the unwinder knows. */
	if (stapy_unwind(current, regs, stack, frames) < frames)
		return false;
	for (i = 0; i < frames; i++, frame += frame[0] + 1)
		if (!one_of(frame, address, stack[i]))
			return false;
	return true;
}

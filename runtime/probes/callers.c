// SPDX-License-Identifier: GPL-2.0-or-later
/* Who called a function: return addresses on the stack, compared with those of known calls. */
#include "../hit.h"
#include "../compat/linux/kprobes.h"
#include "callers.h"
#include "modsyms.h"

/* Is this return address one of the frame's alternatives? */
static notrace bool one_of(const int *frame, const struct stapy_module_symbol *symbols,
			   unsigned long place, unsigned long address)
{
	const int *row = frame + 1;
	int i;

	for (i = 0; i < frame[0]; i++, row += 2) {
		unsigned long from = row[0] < 0 ? place : READ_ONCE(symbols[row[0]].address);

		/* No symbol is there while its module is not. */
		if (from && from + row[1] == address)
			return true;
	}
	return false;
}

bool notrace stapy_called_by(const int *callers, const struct stapy_module_symbol *symbols,
			     unsigned long address, struct pt_regs *regs)
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
		    one_of(frame, symbols, address, top))
			return true;
	}
	if (!stapy_stack_roomy()) {
		stapy_skip(STAPY_SKIP_STACK, NULL);
		return false;
	}
	/* A return probe may have put another address there, which the unwinder knows. */
	if (stapy_unwind(current, regs, stack, frames) < frames)
		return false;
	for (i = 0; i < frames; i++, frame += 2 * frame[0] + 1)
		if (!one_of(frame, symbols, address, stack[i]))
			return false;
	return true;
}

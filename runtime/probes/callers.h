/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions probed only when certain others call them (.callee, .callees).
 *
 * callers[0] is the number of frames, callers[1] is 1 for a probe at the first
 * instruction of a function. The frames follow, innermost first, each as the
 * number of its alternatives and then two numbers for each: what a return
 * address is told from, -1 for the probed place or else a row of symbols (the
 * caller is in another module), and its distance from there.
 */
#ifndef STAPY_CALLERS_H
#define STAPY_CALLERS_H

#define STAPY_MAX_CALLERS 32		/* frames; pass 2 refuses more */

struct stapy_module_symbol;

/* Is the stack at a place, whose kprobe is at address, one of those that are meant? */
bool stapy_called_by(const int *callers, const struct stapy_module_symbol *symbols,
		     unsigned long address, struct pt_regs *regs);

#endif

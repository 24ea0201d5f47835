/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions probed only when certain others call them (.callee, .callees).
 *
 * callers[0] is the number of frames, callers[1] is 1 for a probe at the first
 * instruction of a function. The frames follow, innermost first, each as the
 * number of its alternatives and then those: return addresses, relative to the
 * probed place.
 */
#ifndef STAPY_CALLERS_H
#define STAPY_CALLERS_H

#define STAPY_MAX_CALLERS 32		/* frames; pass 2 refuses more */

/* Is the stack at a place, whose kprobe is at address, one of those that are meant? */
bool stapy_called_by(const int *callers, unsigned long address, struct pt_regs *regs);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of programs probed only when certain others call them (.callee, .callees).
 *
 * callers[0] is the number of frames. Four numbers follow that say how the frame at the probed
 * place is left: whether its address counts from the frame pointer (or else from the stack
 * pointer), how far it is, how far from it the caller's frame pointer is saved, and how far the
 * return address (0: it is in its register). The frames follow, innermost first, each as the number
 * of its alternatives and five numbers for each: how far its return address is from the probed
 * place, and the four that say how the caller's frame is left in its turn.
 */
#ifndef STAPY_USER_CALLERS_H
#define STAPY_USER_CALLERS_H

#define STAPY_MAX_USER_CALLERS 32	/* frames; pass 2 refuses more */

struct pt_regs;

/* Is the user's stack at a place one of those that are meant? At a return, regs are the caller's. */
bool stapy_user_called_by(const int *callers, unsigned long place, const struct pt_regs *regs,
			  bool is_return);

#endif

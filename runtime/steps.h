/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's unwinder has told of places before. From most places the caller's frame is at a
 * fixed distance from the stack pointer or from the frame pointer; where that was so once, a later
 * walk needs no more than the return address at that distance.
 */
#ifndef STAPY_STEPS_H
#define STAPY_STEPS_H

enum stapy_step_kind {
	STAPY_STEP_NONE,
	STAPY_STEP_SP,			/* the caller's frame begins at sp + distance */
	STAPY_STEP_BP,			/* the same from bp */
	STAPY_STEP_END,			/* the registers of the process are at sp + distance */
	STAPY_STEP_OTHER		/* the unwinder must be asked */
};

struct stapy_step {
	unsigned long place;
	s32 distance;
	u8 kind;			/* enum stapy_step_kind */
	u8 saved;			/* the caller's bp: so many words below its frame; 0: as it is */
};

#define STAPY_STEP_LOST 255		/* saved: nobody knows where */
#define STAPY_STEPS 512			/* of each CPU */

/* Return addresses behind the place of `regs`; at least one is wanted. By the holder of the context. */
unsigned int stapy_steps_walk(struct stapy_step *steps, struct pt_regs *regs, unsigned long *to,
			      unsigned int max);

#endif

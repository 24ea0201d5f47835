// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks by what earlier ones have shown, and the unwinder where that does not suffice. */
#include "internal.h"
#include "steps.h"

#ifdef STAPY_UNWIND_STEPS

#define WAYS 4				/* steps of one hash, which two bits of it number */
#define MOST_SAVED 8			/* registers of a caller, and its address */
#define BP_FRAME (2 * (long)sizeof(long))	/* from the word that bp points to, which has the caller's bp */

/*
 * Registers are exact, what returns goes back to is the instruction behind a call: to the
 * unwinder these are two places, even at one address.
 */
#define EXACT (1UL << 62)

/* The step from a place, or the one to be written over: none yet, or that of another place. */
static __always_inline struct stapy_step *step_of(struct stapy_step *steps, unsigned long place)
{
	unsigned long mixed = place * STAPY_MIX;
	struct stapy_step *s = steps + (mixed >> 32 & (STAPY_STEPS - WAYS));
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (s[i].place == place || !s[i].kind)
			return &s[i];
	return &s[mixed >> 62];
}

/* A task's walk from one frame to the next. */
struct walk {
	unsigned long sp, bp, low, top;
	bool lost;			/* bp is not known */
};

static __always_inline unsigned long word_at(unsigned long address)
{
	return READ_ONCE_NOCHECK(*(unsigned long *)address);
}

/* To the caller's frame: false when that would not be on the stack, or cannot be known. */
static __always_inline bool take_step(struct walk *w, const struct stapy_step *s)
{
	unsigned long next = (s->kind == STAPY_STEP_BP ? w->bp : w->sp) + s->distance;

	if (unlikely(s->kind > STAPY_STEP_BP || (s->kind == STAPY_STEP_BP && w->lost)))
		return false;
	if (unlikely(next <= w->sp || next > w->top || next & (sizeof(long) - 1)))
		return false;
	if (s->saved == STAPY_STEP_LOST) {
		w->lost = true;
	} else if (s->saved) {
		if (unlikely(next - w->low < s->saved * sizeof(long)))
			return false;
		w->bp = word_at(next - s->saved * sizeof(long));
	}
	w->sp = next;
	return true;
}

/*
 * The task's own stack is there, and so is all of it. False where something is not known: then
 * *unknown tells whether the unwinder has not been asked about it yet.
 */
static bool walk_known(struct stapy_step *steps, const struct pt_regs *regs, unsigned long *to,
		       unsigned int max, unsigned int *count, bool *unknown)
{
	unsigned long place = regs->ip | EXACT, address = 0;
	struct walk w = {
		.sp = regs->sp,
		.bp = regs->bp,
		.low = (unsigned long)task_stack_page(current),
		.top = (unsigned long)task_pt_regs(current),
	};

	*unknown = false;
	if (w.sp < w.low || w.sp >= w.top)
		return false;
	for (*count = 0;;) {
		const struct stapy_step *s = step_of(steps, place);

		if (s->place != place || !s->kind) {
			*unknown = true;
			return false;
		}
		/* Only now it is sure to be no address that stands for another one. */
		if (address)
			to[(*count)++] = address;
		if (*count == max)
			return true;
		if (s->kind == STAPY_STEP_END)
			return w.sp + s->distance == w.top && user_mode(task_pt_regs(current));
		if (!take_step(&w, s))
			return false;
		address = word_at(w.sp - sizeof(long));
		if (!(address & EXACT))
			return false;
		place = address & ~EXACT;
	}
}

/* Does the unwinder get to where it got in truth from these registers, too? */
static bool leads_to(struct unwind_state *state, struct pt_regs *regs,
		     const struct unwind_state *next)
{
	unwind_start(state, current, regs, NULL);
	return !state->error && state->ip == next->ip && state->sp == next->sp &&
	       word_at(state->sp - sizeof(long)) == state->ip;
}

/* Where the caller's bp is saved, if only one of the words that may be it has its value. */
static u8 saved_at(unsigned long frame, unsigned long bp)
{
	u8 found = STAPY_STEP_LOST, i;

	for (i = 2; i <= MOST_SAVED; i++) {
		if (word_at(frame - i * sizeof(long)) != bp)
			continue;
		if (found != STAPY_STEP_LOST)
			return STAPY_STEP_LOST;
		found = i;
	}
	return found;
}

/*
 * The step from one frame to the next: the unwinder is asked again without the true bp, or without
 * the true sp. What it does not need is not what it went by.
 */
static struct stapy_step step_to(unsigned long ip, unsigned long sp, unsigned long bp,
				 const struct unwind_state *next)
{
	enum { NO_BP = 1 };		/* odd, and nowhere */
	unsigned long top = (unsigned long)task_pt_regs(current);
	struct stapy_step step = { .kind = STAPY_STEP_OTHER };
	struct pt_regs regs = { .ip = ip, .sp = sp, .bp = NO_BP, .cs = __KERNEL_CS };
	struct unwind_state state;

	/* Modules, trampolines and the like may become other code. What a frame has saved is above sp. */
	if (next->error || ip < __START_KERNEL_map || ip >= MODULES_VADDR ||
	    sp - (unsigned long)task_stack_page(current) < MOST_SAVED * sizeof(long))
		return step;
	if ((unsigned long)next->regs == top && user_mode(task_pt_regs(current)) && top >= sp) {
		step.kind = STAPY_STEP_END;
		step.distance = top - sp;
		return step;
	}
	if (next->signal || next->regs || (long)next->ip >= 0 || next->sp <= sp || next->sp > top)
		return step;
	if (leads_to(&state, &regs, next)) {
		step.kind = STAPY_STEP_SP;
		step.distance = next->sp - sp;
		step.saved = state.bp == NO_BP ? 0 : saved_at(state.sp, state.bp);
		return step;
	}
	regs.sp = (unsigned long)&regs & ~(sizeof(long) - 1);
	regs.bp = bp;
	/*
	 * A function that aligns its stack and has arguments there keeps the caller's frame in a
	 * word below bp, farther away: how far is another matter at each call.
	 */
	if (next->sp - bp == BP_FRAME && leads_to(&state, &regs, next)) {
		step.kind = STAPY_STEP_BP;
		step.distance = BP_FRAME;
		step.saved = saved_at(state.sp, state.bp);
	}
	return step;
}

/* Does a step that is known lead there? Not while a return probe has the return address, say. */
static bool holds(const struct stapy_step *s, unsigned long sp, unsigned long bp,
		  const struct unwind_state *next)
{
	if (s->kind > STAPY_STEP_BP)
		return true;
	return !next->error && next->sp > sp && next->sp <= (unsigned long)task_pt_regs(current) &&
	       next->sp == (s->kind == STAPY_STEP_BP ? bp : sp) + s->distance &&
	       word_at(next->sp - sizeof(long)) == next->ip;
}

/* Walk once more, and keep what each place leads to, up to the first one that is not fixed. */
static noinline void learn(struct stapy_step *steps, struct pt_regs *regs, unsigned int max)
{
	unsigned long ip = regs->ip, sp = regs->sp, bp = regs->bp, place = ip | EXACT;
	struct unwind_state state;
	unsigned int n;

	unwind_start(&state, current, regs, NULL);
	for (n = 0; n <= max; n++) {
		struct stapy_step *s = step_of(steps, place);

		if (s->place != place || !s->kind || !holds(s, sp, bp, &state)) {
			*s = step_to(ip, sp, bp, &state);
			s->place = place;
		}
		if (s->kind > STAPY_STEP_BP)
			return;
		/* The call, which may be the last instruction of its function. */
		ip = state.ip - 1;
		sp = state.sp;
		bp = state.bp;
		place = state.ip & ~EXACT;
		unwind_next_frame(&state);
	}
}

unsigned int stapy_steps_walk(struct stapy_step *steps, struct pt_regs *regs, unsigned long *to,
			      unsigned int max)
{
	unsigned int n;
	bool unknown;

	if (likely(walk_known(steps, regs, to, max, &n, &unknown)))
		return n;
	n = stapy_unwind(current, regs, to, max);
	if (unknown)
		learn(steps, regs, n);
	return n;
}

#else

unsigned int stapy_steps_walk(struct stapy_step *steps, struct pt_regs *regs, unsigned long *to,
			      unsigned int max)
{
	return stapy_unwind(current, regs, to, max);
}

#endif

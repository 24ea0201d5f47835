// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of the current process, by the tables of objects.c. Nothing sleeps and nothing waits;
 * memory that is not there ends the walk.
 */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "../arch/user_frame.h"
#include "../internal.h"
#include "look.h"
#include "maplock.h"
#include "unwind.h"

#define POINTER_REACH (1UL << 20)	/* of a frame pointer above the stack's */
#define PENDING 64			/* return probes of one thread: the kernel's limit */

struct walk {
	struct stapy_look look;
	const struct stapy_user_range *range;	/* that ip was looked for in last */
	const struct pt_regs *regs;	/* all registers, of the innermost frame only */
	const struct return_instance *hooked;	/* the innermost return address that is */
	unsigned long ip, sp, fp;
	unsigned long back;		/* 0: ip is where it is, not where it goes on behind a call */
	unsigned long link;		/* a register, where it has the return address of this frame */
	bool has_link;
	bool is_above;			/* sp is somewhere above: only frame pointers tell where */
};

/* --- one frame --- */

struct pt_regs *stapy_user_registers(struct stapy_context *c)
{
	if (c->user_regs)
		return c->user_regs;
	if (c->regs && user_mode(c->regs))
		return c->regs;
	if (!stapy_maps_possible())
		return NULL;
	return task_pt_regs(current);
}

/* Of an offset that shares its word with 8 other bits. */
static long low_bits(u32 offset)
{
	return (s32)(offset << 8) >> 8;
}

static bool indirect(unsigned long at, u32 offset, unsigned long *cfa)
{
	if (!stapy_user_word(at + low_bits(offset), cfa))
		return false;
	*cfa += offset >> 24;
	return true;
}

/* The frame pointer is the place of the pair, once that is stored. */
static bool end_by_pair(const struct walk *w, const struct stapy_frame_rule *rule,
			unsigned long *cfa)
{
	*cfa = w->fp - 8L * rule->by;
	return rule->saved == STAPY_SAVED_PAIR && w->fp;
}

/* Where this frame ends; false when it cannot be known. */
static __always_inline bool frame_end(const struct walk *w, const struct stapy_frame_rule *rule,
				      unsigned long *cfa)
{
	if (likely(rule->kind == STAPY_FRAME_SP)) {
		*cfa = w->sp + (s32)rule->offset;
		return !STAPY_USER_LINK || !w->is_above || end_by_pair(w, rule, cfa);
	}
	switch (rule->kind) {
	case STAPY_FRAME_FP:
		*cfa = w->fp + (s32)rule->offset;
		return true;
	case STAPY_FRAME_AT_FP:
		return indirect(w->fp, rule->offset, cfa);
	case STAPY_FRAME_AT_SP:
		return indirect(w->sp, rule->offset, cfa);
	case STAPY_FRAME_PLT:
		*cfa = w->sp + 8 + ((w->ip & 15) >= rule->offset ? 8 : 0);
		return true;
	case STAPY_FRAME_REGISTER:
		if (!stapy_user_numbered_register(w->regs, rule->offset >> 24, cfa))
			return false;
		*cfa += low_bits(rule->offset);
		return true;
	default:
		return false;
	}
}

static bool saved_pointer(struct walk *w, const struct stapy_frame_rule *rule, unsigned long cfa)
{
	switch (rule->saved) {
	case STAPY_SAVED_NOT:
		return true;
	case STAPY_SAVED_AT_CFA:
		return stapy_user_word(cfa + rule->by, &w->fp);
	case STAPY_SAVED_AT_FP:
		return stapy_user_word(w->fp + rule->by, &w->fp);
	default:
		w->fp = 0;
		return true;
	}
}

static bool leave_signal(struct walk *w)
{
	unsigned long at = w->sp;

	w->back = 0;
	w->has_link = STAPY_USER_LINK;
	if (STAPY_USER_LINK && (w->is_above || !stapy_user_word(at + STAPY_SIGNAL_LINK, &w->link)))
		return false;
	return stapy_user_word(at + STAPY_SIGNAL_IP, &w->ip) &&
	       stapy_user_word(at + STAPY_SIGNAL_FP, &w->fp) &&
	       stapy_user_word(at + STAPY_SIGNAL_SP, &w->sp);
}

/*
 * The kernel's hook: the beginning of the page that it has mapped for breakpoints. Returns that
 * were left by longjmp() or an exception stay in its list a while, and another frame may end where
 * theirs did.
 */
static bool is_hook(struct walk *w)
{
	const struct stapy_user_range *range = stapy_look_range(&w->look, w->ip);

	w->range = NULL;	/* its place may be another's now */
	return range && range->is_code && !range->is_file && range->start == w->ip;
}

/*
 * A return address that is hooked, be it by us or by others. We may have interrupted the
 * kernel while it changes the list, so it is read as if it could be anything. It stands at a
 * place, or, where only frame pointers tell, there or above: the innermost one that does.
 */
static noinline void unhook_from(struct walk *w, unsigned long at, bool or_above)
{
#ifdef CONFIG_UPROBES
	const struct return_instance *next = w->hooked;
	struct return_instance hooked;
	unsigned int i;

	for (i = 0; next && i < PENDING; i++, next = hooked.next) {
		if (copy_from_kernel_nofault(&hooked, next, sizeof(hooked)))
			return;
		if (or_above ? hooked.stack < at : hooked.stack != at)
			continue;
		if (!is_hook(w))
			return;
		w->ip = stapy_user_unsigned(hooked.orig_ret_vaddr);
		w->hooked = hooked.next;	/* those of its callers */
		return;
	}
#endif
}

static __always_inline void unhook(struct walk *w, unsigned long at)
{
	if (unlikely(w->hooked))
		unhook_from(w, at, false);
}

/* None changes while we are here: only the task itself makes and leaves them. */
static const struct return_instance *hooked_returns(void)
{
#ifdef CONFIG_UPROBES
	const struct uprobe_task *utask = current->utask;

	return utask ? READ_ONCE(utask->return_instances) : NULL;
#else
	return NULL;
#endif
}

/* By the frame pointer, where nothing is described: code that was made at run time. */
static bool step_by_pointer(struct walk *w)
{
	unsigned long frame = w->fp;

	if (frame < w->sp || frame - w->sp > POINTER_REACH || frame % sizeof(long))
		return false;
	if (!stapy_user_word(frame, &w->fp) || !stapy_user_word(frame + 8, &w->ip))
		return false;
	w->sp = frame + 16;
	w->back = 1;
	if (STAPY_USER_LINK) { /* the pair is at the other end of the frame, which tells no more */
		w->ip = stapy_user_unsigned(w->ip);
		w->is_above = true;
		w->has_link = false;
		if (w->hooked)
			unhook_from(w, frame + 16, true);
	} else {
		unhook(w, frame + 8);
	}
	return w->ip;
}

/* The rule of a place that was met before by this CPU, as most are, or else by the table. */
static __always_inline const struct stapy_frame_rule *rule_of(struct stapy_look_kept *kept,
							      const struct stapy_object *object,
							      u64 at)
{
	struct stapy_rule_kept *place = stapy_look_rule(kept, object, at);
	const struct stapy_frame_rule *rule;

	if (unlikely(place->object != object || place->at != at)) {
		rule = stapy_object_rule(object, at);
		place->object = object;
		place->at = at;
		place->rule = rule ? *rule : (struct stapy_frame_rule){ .kind = STAPY_FRAME_UNKNOWN };
	}
	return &place->rule;
}

/* Where no table says how. */
static noinline bool step_without(struct walk *w, const struct stapy_user_range *range)
{
	if (!range->object && range->is_file)
		stapy_look_unknown(range);
	return (!range->is_file || range->object) && step_by_pointer(w);
}

/* What a frame that ends at the CFA returns to, where calls put that into a register. */
static bool leave_by_link(struct walk *w, const struct stapy_frame_rule *rule, unsigned long cfa)
{
	unsigned long at = cfa + 8L * rule->by;

	switch (rule->saved) {
	case STAPY_SAVED_NOT:
		if (!w->has_link || cfa < w->sp)
			return false;
		w->ip = w->link;
		break;
	case STAPY_SAVED_PAIR:
		if (cfa <= w->sp || !stapy_user_word(at + 8, &w->ip) ||
		    !stapy_user_word(at, &w->fp))
			return false;
		break;
	case STAPY_SAVED_LINK:
		if (cfa <= w->sp || !stapy_user_word(at, &w->ip))
			return false;
		break;
	default:
		return false;
	}
	w->ip = stapy_user_unsigned(w->ip);
	w->has_link = w->is_above = false;
	unhook(w, cfa);
	return true;
}

/* What it returns to, where calls push that. */
static __always_inline bool leave_by_stack(struct walk *w, const struct stapy_frame_rule *rule,
					   unsigned long cfa)
{
	if (cfa <= w->sp || !stapy_user_word(cfa - 8, &w->ip) || !saved_pointer(w, rule, cfa))
		return false;
	unhook(w, cfa - 8);
	return true;
}

/* To the caller; false at the end of the stack, or where no more is known. */
static __always_inline bool step(struct walk *w, const struct stapy_user_range *range)
{
	const struct stapy_frame_rule *rule;
	unsigned long cfa;

	if (unlikely(!range->object))
		return step_without(w, range);
	rule = rule_of(w->look.kept, range->object,
		       w->ip - w->back + range->shift - range->object->base);
	if (unlikely(rule->kind == STAPY_FRAME_UNKNOWN))
		return step_without(w, range);
	if (unlikely(rule->kind == STAPY_FRAME_SIGNAL))
		return leave_signal(w);
	if (!frame_end(w, rule, &cfa))
		return false;
	if (!(STAPY_USER_LINK ? leave_by_link(w, rule, cfa) : leave_by_stack(w, rule, cfa)))
		return false;
	w->sp = cfa;
	w->back = 1;
	return w->ip;
}

/* What is no place for code was no return address: then NULL. Callers are mostly near each other. */
static __always_inline const struct stapy_user_range *code_at(struct walk *w)
{
	unsigned long address = w->ip - w->back;
	const struct stapy_user_range *range = w->range;

	if (likely(range && address - range->start < range->end - range->start))
		return range;
	range = stapy_look_range(&w->look, address);
	w->range = range && range->is_code ? range : NULL;
	return w->range;
}

static unsigned int walk(struct walk *w, unsigned long *to, unsigned int max)
{
	const struct stapy_user_range *range;
	unsigned int n = 0;

	pagefault_disable();
	w->hooked = hooked_returns();
	to[n++] = w->ip;
	w->look.walks = true;
	range = n < max ? code_at(w) : NULL;
	while (n < max && range && step(w, range)) {
		w->regs = NULL;
		range = code_at(w);
		if (range)
			to[n++] = w->ip;
	}
	pagefault_enable();
	return n;
}

unsigned int stapy_user_stack(struct stapy_context *c, const unsigned long **to, unsigned int max)
{
	struct pt_regs *regs = stapy_user_registers(c);
	struct stapy_look_kept *kept;
	struct walk w = {};

	kept = stapy_look_begin(c, &w.look);
	max = min(max, stapy_stack_frames);
	if (!kept || !regs || !max || !stapy_stack_suffices(c))
		return 0;
	*to = kept->stack;
	if (!kept->walked || (kept->wanted < max && kept->depth >= kept->wanted)) {
		w.regs = regs;
		w.ip = instruction_pointer(regs);
		w.sp = user_stack_pointer(regs);
		w.fp = frame_pointer(regs);
		w.link = stapy_user_link(regs);
		/* A function that has returned leaves the hook in it, or what it was used for since. */
		w.has_link = STAPY_USER_LINK && !(c->user_regs && c->is_return);
		kept->depth = walk(&w, kept->stack, stapy_user_is_64bit(regs) ? max : 1);
		kept->wanted = max;
		kept->walked = true;
		stapy_look_end(&w.look);
	}
	return min(max, kept->depth);
}

unsigned int stapy_user_stack_from(struct stapy_context *c, unsigned long pc, unsigned long sp,
				   unsigned long fp, const unsigned long **to)
{
	struct stapy_look_kept *kept;
	struct walk w = {};
	unsigned int n;

	kept = stapy_look_begin(c, &w.look);
	if (!kept || !stapy_maps_possible() || !stapy_stack_frames ||
	    !stapy_stack_suffices(c))
		return 0;
	kept->walked = false;
	*to = kept->stack;
	w.ip = pc;
	w.sp = sp;
	w.fp = fp;
	n = walk(&w, kept->stack, stapy_stack_frames);
	stapy_look_end(&w.look);
	return n;
}

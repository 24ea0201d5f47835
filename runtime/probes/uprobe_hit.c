// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel calls at a place of a program: whether it is meant there, and its hits. */
#include "../arch/machine.h"
#include "../hit.h"
#include "../user/callers.h"
#include "../user/entries.h"
#include "../user/missing.h"
#include "../user/targets.h"
#include "uprobe_place.h"

static __always_inline const struct stapy_uprobe_place *
place_of(const struct uprobe_consumer *consumer)
{
	return container_of(consumer, struct stapy_uprobe_place, uprobe.consumer);
}

/* --- whose --- */

static bool has_some(const struct stapy_uprobe_row *row, struct mm_struct *mm)
{
	for (; row; row = row->same)
		if (row->scope < 0 || stapy_target_has(row->scope, mm))
			return true;
	return false;
}

/* Without an owner it is the one of whoever maps the file at this moment, or nobody's. */
static bool is_mine(struct mm_struct *mm)
{
	struct task_struct *owner;
	bool mine;

	rcu_read_lock();
	owner = stapy_mm_owner(mm) ?: current->mm == mm ? current : NULL;
	mine = owner && stapy_owns(owner) && stapy_is_dumpable(owner, mm);
	rcu_read_unlock();
	return mine;
}

/*
 * The kernel decodes the instruction of a place once, as the first address space reads it that it
 * is armed in: none of 32 bits may be that, whoever maps the file there. And what an unprivileged
 * user may not see is left alone, not only kept quiet about.
 */
static bool may_be_armed(struct mm_struct *mm)
{
	return stapy_mm_is_64bit(mm) &&
	       (likely(!stapy_session.limits.unprivileged) || is_mine(mm));
}

static bool is_wanted_in(const struct stapy_uprobe_place *place, struct mm_struct *mm)
{
	if (!may_be_armed(mm))
		return false;
	return place->everybody || has_some(place->entries, mm) || has_some(place->returns, mm);
}

STAPY_UPROBE_FILTER(is_armed_in, consumer, mm)
{
	return is_wanted_in(place_of(consumer), mm);
}

/*
 * A place where nobody is meant is taken out of the address space, unless others use that. The
 * address space is asked, not the process: a child of vfork() runs in its parent's, where the
 * breakpoints must stay.
 */
static int refuse(const struct stapy_uprobe_place *place)
{
	return is_wanted_in(place, current->mm) ? 0 : UPROBE_HANDLER_REMOVE;
}

/* --- hits --- */

/*
 * A breakpoint may lie behind the beginning of its function, where the kernel emulates an
 * instruction, if all that is before it does nothing. Whoever looks at the registers of the hit is
 * shown those of the beginning: only the instruction pointer differs.
 */
static __always_inline unsigned long step_back(unsigned long distance, struct pt_regs *regs)
{
	unsigned long address = instruction_pointer(regs) - distance;

	instruction_pointer_set(regs, address);
	return address;
}

/* And the kernel is given back its own, unless a handler sent the program elsewhere. */
static __always_inline void step_forth(unsigned long distance, struct pt_regs *regs,
				       unsigned long address)
{
	if (likely(instruction_pointer(regs) == address))
		instruction_pointer_set(regs, address + distance);
}

/*
 * Where a handler before this one has sent the program is where it is, and nothing is set back. It
 * may be another session's, before this one was called: files are mapped by pages, so at the
 * breakpoint the address within its page is that of the file. Of the places where somebody else may
 * send it, one in a page's bytes looks the same.
 */
static __always_inline unsigned long distance_at(const struct stapy_uprobe_row *row,
						 unsigned long address)
{
	return likely(!((address ^ row->offset) & ~PAGE_MASK)) ? row->distance : 0;
}

static __always_inline unsigned long distance_of(const struct stapy_uprobe_row *row,
						 struct pt_regs *regs, unsigned long breakpoint)
{
	return likely(instruction_pointer(regs) == breakpoint) ? distance_at(row, breakpoint) : 0;
}

/* The function that has returned. The kernel remembers where the program was behind all handlers. */
static __always_inline unsigned long function_of(const struct stapy_uprobe_row *row,
						 unsigned long function)
{
	return function - distance_at(row, function);
}

static __always_inline bool is_meant(const struct stapy_uprobe_row *row)
{
	return !row->members || test_bit(current->tgid, row->members);
}

/* Unprivileged users see their own processes only. */
static __always_inline bool is_shown(void)
{
	return likely(!stapy_session.limits.unprivileged) || stapy_is_myproc();
}

static __always_inline bool is_called(const struct stapy_uprobe_row *row, struct pt_regs *regs,
				      unsigned long address, bool is_return)
{
	return likely(!row->callers) ||
	       stapy_user_called_by(row->callers, address, regs, is_return);
}

static __always_inline struct stapy_context *enter(const struct stapy_uprobe_row *row,
						   struct pt_regs *regs, unsigned long address,
						   unsigned int tries)
{
	struct stapy_context *c;

	if (!is_shown())
		return NULL;
	c = stapy_hit_enter(NULL, &row->site, NULL, address);
	if (!c)
		return NULL;
	c->user_regs = regs;
	c->repeatable = tries + 1;
	c->changed = false;
	return c;
}

/* Whether the hit is to run once more. */
static __always_inline bool leave(struct stapy_context *c, unsigned int *tries)
{
	c->user_regs = NULL;
	c->is_return = false;
	c->repeatable = 0;
	return stapy_missing_leave(c, tries);
}

static atomic_long_t returns_lost = ATOMIC_LONG_INIT(0);

/* The call of a function whose return is probed: what the script wants of its entry is kept. */
static void keep(const struct stapy_uprobe_row *row, struct pt_regs *regs, unsigned long address)
{
	unsigned int tries = STAPY_MISSING_TRIES;
	struct stapy_kept *kept;
	struct stapy_context *c;

	do {
		c = is_called(row, regs, address, false) ? enter(row, regs, address, tries) : NULL;
		if (!c) {
			stapy_kept_drop(row, user_stack_pointer(regs));
			return;
		}
		kept = stapy_keep_entry(row, user_stack_pointer(regs));
		if (kept) {
			c->slots = kept->values;
			c->at_entry = true;
			stapy_hit_run(c, row->site.probe->entry);
			stapy_kept_done(kept, !c->error);
		}
	} while (leave(c, &tries));
}

static void keep_at_entry(const struct stapy_uprobe_row *row, struct pt_regs *regs,
			  unsigned long breakpoint)
{
	unsigned long distance = distance_of(row, regs, breakpoint);
	unsigned long address = step_back(distance, regs);

	keep(row, regs, address);
	step_forth(distance, regs, address);
}

static __always_inline void hit_entry(const struct stapy_uprobe_row *row, struct pt_regs *regs,
				      unsigned long address, unsigned int tries)
{
	struct stapy_context *c;

	do {
		c = enter(row, regs, address, tries);
		if (!c)
			return;
		stapy_hit_run(c, row->site.probe->handler);
	} while (leave(c, &tries));
}

STAPY_ON_UPROBE(on_entry, consumer, regs)
{
	const struct stapy_uprobe_place *place = place_of(consumer);
	const struct stapy_uprobe_row *row;
	unsigned long address, distance, breakpoint = instruction_pointer(regs);
	bool meant = place->everybody;

	if (stapy_is_hidden())
		return 0;
	for (row = place->entries; row; row = row->same) {
		if (!is_meant(row))
			continue;
		meant = true;
		distance = distance_of(row, regs, breakpoint);
		address = step_back(distance, regs);
		if (is_called(row, regs, address, false))
			hit_entry(row, regs, address, STAPY_MISSING_TRIES);
		step_forth(distance, regs, address);
	}
	for (row = place->returns; row; row = row->same) {
		if (meant && !row->slot_bytes && likely(!stapy_uretprobes_full()))
			continue;
		if (!is_meant(row))
			continue;
		meant = true;
		if (unlikely(stapy_uretprobes_full()))
			atomic_long_inc(&returns_lost);
		else if (row->slot_bytes)
			keep_at_entry(row, regs, breakpoint);
	}
	return likely(meant) && is_shown() ? 0 : refuse(place);
}

static __always_inline void hit_return(const struct stapy_uprobe_row *row, unsigned long function,
				       struct pt_regs *regs)
{
	unsigned long frame = stapy_user_entry_stack(regs);
	unsigned int tries = STAPY_MISSING_TRIES;
	struct stapy_kept *kept;
	struct stapy_context *c;

	do {
		kept = NULL;
		c = is_called(row, regs, function, true) ? enter(row, regs, function, tries) : NULL;
		if (!c) {
			if (row->slot_bytes)
				stapy_kept_drop(row, frame);
			return;
		}
		if (row->slot_bytes)
			kept = stapy_kept_entry(row, frame);
		if (kept || !row->slot_bytes) {
			c->is_return = true;
			if (kept)
				c->slots = kept->values;
			stapy_hit_run(c, row->site.probe->handler);
		}
		/* Another run needs it, too. */
		if (kept)
			stapy_kept_done(kept, c->missed);
	} while (leave(c, &tries));
}

STAPY_ON_URETPROBE(on_return, consumer, function, regs)
{
	const struct stapy_uprobe_place *place = place_of(consumer);
	const struct stapy_uprobe_row *row;

	if (stapy_is_hidden())
		return 0;
	for (row = place->returns; row; row = row->same)
		if (is_meant(row))
			hit_return(row, function_of(row, function), regs);
	return 0;
}

/* --- hits of places with one row that wants nothing but them, as most have --- */

/* What is rare in the end of a hit. The page that was missed is brought in, and it runs once more. */
static noinline void leave_rare(struct stapy_context *c, const struct stapy_uprobe_row *row,
				struct pt_regs *regs, unsigned long address, bool is_return)
{
	unsigned int tries = STAPY_MISSING_TRIES;

	while (leave(c, &tries)) {
		c = enter(row, regs, address, tries);
		if (!c)
			return;
		c->is_return = is_return;
		stapy_hit_run(c, row->site.probe->handler);
	}
}

static __always_inline void hit_plain(const struct stapy_uprobe_row *row, struct pt_regs *regs,
				      unsigned long address, bool is_return)
{
	struct stapy_context *c = stapy_hit_enter(NULL, &row->site, NULL, address);

	if (unlikely(!c))
		return;
	c->user_regs = regs;
	c->is_return = is_return;
	c->repeatable = STAPY_MISSING_TRIES + 1;
	c->changed = false;
	stapy_hit_run(c, row->site.probe->handler);
	if (unlikely(c->attention)) {
		leave_rare(c, row, regs, address, is_return);
		return;
	}
	c->user_regs = NULL;
	c->is_return = false;
	c->repeatable = 0;
	stapy_hit_leave(c);
}

STAPY_ON_UPROBE(on_plain_entry, consumer, regs)
{
	const struct stapy_uprobe_place *place = place_of(consumer);
	const struct stapy_uprobe_row *row = place->entries;

	if (stapy_is_hidden())
		return 0;
	if (unlikely(!is_meant(row) || !is_shown()))
		return refuse(place);
	hit_plain(row, regs, instruction_pointer(regs), false);
	return 0;
}

/* The same where the breakpoint lies behind the beginning. */
STAPY_ON_UPROBE(on_moved_entry, consumer, regs)
{
	const struct stapy_uprobe_place *place = place_of(consumer);
	const struct stapy_uprobe_row *row = place->entries;
	unsigned long address, distance = distance_at(row, instruction_pointer(regs));

	if (stapy_is_hidden())
		return 0;
	if (unlikely(!is_meant(row) || !is_shown()))
		return refuse(place);
	address = step_back(distance, regs);
	hit_plain(row, regs, address, false);
	step_forth(distance, regs, address);
	return 0;
}

/* The call of a function whose return is probed. */
STAPY_ON_UPROBE(on_plain_call, consumer, regs)
{
	const struct stapy_uprobe_place *place = place_of(consumer);

	if (stapy_is_hidden())
		return 0;
	if (unlikely(!is_meant(place->returns) || !is_shown()))
		return refuse(place);
	if (unlikely(stapy_uretprobes_full()))
		atomic_long_inc(&returns_lost);
	return 0;
}

static __always_inline void hit_plain_return(const struct stapy_uprobe_row *row,
					     struct pt_regs *regs, unsigned long function)
{
	if (!stapy_is_hidden() && likely(is_meant(row) && is_shown()))
		hit_plain(row, regs, function, true);
}

STAPY_ON_URETPROBE(on_plain_return, consumer, function, regs)
{
	hit_plain_return(place_of(consumer)->returns, regs, function);
	return 0;
}

STAPY_ON_URETPROBE(on_moved_return, consumer, function, regs)
{
	const struct stapy_uprobe_row *row = place_of(consumer)->returns;

	hit_plain_return(row, regs, function_of(row, function));
	return 0;
}

long stapy_uprobe_lost_returns(void)
{
	return atomic_long_xchg(&returns_lost, 0);
}

/* --- which of them a place gets --- */

static bool is_plain(const struct stapy_uprobe_row *row)
{
	return !row->same && !row->callers && !row->slot_bytes;
}

void stapy_uprobe_set_callbacks(struct stapy_uprobe_place *place)
{
	struct uprobe_consumer *consumer = &place->uprobe.consumer;
	const struct stapy_uprobe_row *entries = place->entries, *returns = place->returns;

	consumer->handler = on_entry;
	if (returns)
		consumer->ret_handler = on_return;
	if (entries && !returns && is_plain(entries)) {
		consumer->handler = entries->distance ? on_moved_entry : on_plain_entry;
	} else if (returns && !entries && is_plain(returns)) {
		consumer->handler = on_plain_call;
		consumer->ret_handler = returns->distance ? on_moved_return : on_plain_return;
	}
	consumer->filter = is_armed_in;
}

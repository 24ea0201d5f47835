// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions and places of user programs. The kernel arms a place of a file in every process
 * that maps it, also later: so all that is left to ask is whose processes a row means. The
 * filter answers that when a place is armed in an address space, and every hit asks again,
 * since a child is born with its parent's breakpoints.
 */
#include <linux/sort.h>

#include "../hit.h"
#include "../transport/control.h"
#include "../compat/linux/uprobes.h"
#include "../user/callers.h"
#include "../user/entries.h"
#include "../user/files.h"
#include "../user/missing.h"
#include "../user/targets.h"

#define EVERYBODY (-1)
#define TOLD 10				/* places that cannot be armed, each by itself */

/* What the kernel knows of one place; all rows that name it, in the order of the script. */
struct place {
	struct stapy_uprobe uprobe;
	struct stapy_uprobe_row *entries, *returns;
	bool everybody;			/* a row is meant for whoever comes */
	u64 counter;			/* of a mark among them; or 0 */
	int error;
};

static struct place *places;
static unsigned int nr_places;
static bool following;			/* some rows are meant for some processes only */

/* --- hits --- */

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

/* The call of a function whose return is probed: what the script wants of its entry is kept. */
static void keep(const struct stapy_uprobe_row *row, struct pt_regs *regs)
{
	unsigned int tries = STAPY_MISSING_TRIES;
	struct stapy_kept *kept;
	struct stapy_context *c;

	do {
		c = is_called(row, regs, instruction_pointer(regs), false) ?
		    enter(row, regs, instruction_pointer(regs), tries) : NULL;
		if (!c) {
			stapy_kept_drop(row, user_stack_pointer(regs));
			return;
		}
		kept = stapy_keep_entry(row, user_stack_pointer(regs));
		if (kept) {
			c->slots = kept->values;
			stapy_hit_run(c, row->site.probe->entry);
			stapy_kept_done(kept, !c->error);
		}
	} while (leave(c, &tries));
}

static __always_inline void hit_entry(const struct stapy_uprobe_row *row, struct pt_regs *regs,
				      unsigned int tries)
{
	struct stapy_context *c;

	do {
		c = enter(row, regs, instruction_pointer(regs), tries);
		if (!c)
			return;
		stapy_hit_run(c, row->site.probe->handler);
	} while (leave(c, &tries));
}

/* A place where nobody is meant is taken out of the address space, unless others use that. */
static int refuse(const struct place *place);

STAPY_ON_UPROBE(on_entry, consumer, regs)
{
	const struct place *place = container_of(consumer, struct place, uprobe.consumer);
	const struct stapy_uprobe_row *row;
	bool meant = place->everybody;

	if (stapy_is_hidden())
		return 0;
	for (row = place->entries; row; row = row->same) {
		if (!is_meant(row))
			continue;
		meant = true;
		if (!is_called(row, regs, instruction_pointer(regs), false))
			continue;
		hit_entry(row, regs, STAPY_MISSING_TRIES);
	}
	for (row = place->returns; row; row = row->same) {
		if (meant && !row->slot_bytes)
			continue;
		if (!is_meant(row))
			continue;
		meant = true;
		if (row->slot_bytes)
			keep(row, regs);
	}
	return likely(meant) && is_shown() ? 0 : refuse(place);
}

static __always_inline void hit_return(const struct stapy_uprobe_row *row, unsigned long function,
				       struct pt_regs *regs)
{
	/* The return address, which the call has popped, was at the entry's stack pointer. */
	unsigned long frame = user_stack_pointer(regs) - sizeof(long);
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
	const struct place *place = container_of(consumer, struct place, uprobe.consumer);
	const struct stapy_uprobe_row *row;

	if (stapy_is_hidden())
		return 0;
	for (row = place->returns; row; row = row->same)
		if (is_meant(row))
			hit_return(row, function, regs);
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
	const struct place *place = container_of(consumer, struct place, uprobe.consumer);
	const struct stapy_uprobe_row *row = place->entries;

	if (stapy_is_hidden())
		return 0;
	if (unlikely(!is_meant(row) || !is_shown()))
		return refuse(place);
	hit_plain(row, regs, instruction_pointer(regs), false);
	return 0;
}

/* The call of a function whose return is probed. */
STAPY_ON_UPROBE(on_plain_call, consumer, regs)
{
	const struct place *place = container_of(consumer, struct place, uprobe.consumer);

	if (stapy_is_hidden() || likely(is_meant(place->returns) && is_shown()))
		return 0;
	return refuse(place);
}

STAPY_ON_URETPROBE(on_plain_return, consumer, function, regs)
{
	const struct place *place = container_of(consumer, struct place, uprobe.consumer);
	const struct stapy_uprobe_row *row = place->returns;

	if (!stapy_is_hidden() && likely(is_meant(row) && is_shown()))
		hit_plain(row, regs, function, true);
	return 0;
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

static bool is_wanted_in(const struct place *place, struct mm_struct *mm)
{
	if (!may_be_armed(mm))
		return false;
	return place->everybody || has_some(place->entries, mm) || has_some(place->returns, mm);
}

STAPY_UPROBE_FILTER(is_armed_in, consumer, mm)
{
	return is_wanted_in(container_of(consumer, struct place, uprobe.consumer), mm);
}

/*
 * The address space is asked, not the process: a child of vfork() runs in its parent's, where
 * the breakpoints must stay.
 */
static int refuse(const struct place *place)
{
	return is_wanted_in(place, current->mm) ? 0 : UPROBE_HANDLER_REMOVE;
}

/* --- places --- */

static int compare_places(const struct stapy_uprobe_row *a, const struct stapy_uprobe_row *b)
{
	if (a->held->real != b->held->real)
		return a->held->real < b->held->real ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Those without a counter first, to be at one place with the first that have one. */
static int by_place(const void *a, const void *b)
{
	const struct stapy_uprobe_row *left = *(const struct stapy_uprobe_row *const *)a;
	const struct stapy_uprobe_row *right = *(const struct stapy_uprobe_row *const *)b;

	if (compare_places(left, right))
		return compare_places(left, right);
	if (left->counter != right->counter)
		return left->counter < right->counter ? -1 : 1;
	return left < right ? -1 : 1;
}

/* The kernel keeps one counter for a place; a second one makes a place that it will refuse. */
static bool is_at(const struct place *place, const struct stapy_uprobe_row *row)
{
	return !place->counter || place->counter == row->counter;
}

/* Rows of one place are in the order of the script. */
static void add_row(struct place *place, struct stapy_uprobe_row *row)
{
	struct stapy_uprobe_row **next = row->is_return ? &place->returns : &place->entries;

	while (*next && *next < row)
		next = &(*next)->same;
	row->same = *next;
	*next = row;
	place->everybody |= row->scope < 0;
	place->counter = row->counter;
}

static bool is_plain(const struct stapy_uprobe_row *row)
{
	return !row->same && !row->callers && !row->slot_bytes;
}

static void set_callbacks(struct place *place)
{
	struct uprobe_consumer *consumer = &place->uprobe.consumer;
	const struct stapy_uprobe_row *entries = place->entries, *returns = place->returns;

	consumer->handler = on_entry;
	if (returns)
		consumer->ret_handler = on_return;
	if (entries && !returns && is_plain(entries)) {
		consumer->handler = on_plain_entry;
	} else if (returns && !entries && is_plain(returns)) {
		consumer->handler = on_plain_call;
		consumer->ret_handler = on_plain_return;
	}
	consumer->filter = is_armed_in;
}

static int make_places(struct stapy_uprobe_row *rows, unsigned int count)
{
	struct stapy_uprobe_row **sorted = stapy_alloc(count, sizeof(*sorted));
	unsigned int i, n = 0;

	places = stapy_alloc(count, sizeof(*places));
	if (!sorted || !places) {
		kvfree(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < count; i++)
		if (rows[i].held)
			sorted[n++] = &rows[i];
	sort(sorted, n, sizeof(*sorted), by_place, NULL);
	for (i = 0; i < n; i++) {
		if (!i || compare_places(sorted[i - 1], sorted[i]) ||
		    !is_at(&places[nr_places - 1], sorted[i]))
			nr_places++;
		add_row(&places[nr_places - 1], sorted[i]);
	}
	kvfree(sorted);
	for (i = 0; i < nr_places; i++)
		set_callbacks(&places[i]);
	return 0;
}

static const struct stapy_uprobe_row *first_of(const struct place *place)
{
	return place->entries ?: place->returns;
}

static bool any_wanted(const struct stapy_uprobe_row *row)
{
	for (; row; row = row->same)
		if (stapy_wanted(row->site.probe))
			return true;
	return false;
}

static bool is_wanted(const struct place *place)
{
	return any_wanted(place->entries) || any_wanted(place->returns);
}

static void arm(struct place *place)
{
	const struct stapy_uprobe_row *row = first_of(place);

	place->error = stapy_uprobe_arm(&place->uprobe, row->held->real, row->offset, place->counter);
}

static void disarm(struct place *place)
{
	const struct stapy_uprobe_row *row = first_of(place);

	stapy_uprobe_disarm(&place->uprobe, row->held->real, row->offset);
}

/* What the kernel would refuse again. */
static bool is_final(int error)
{
	return error == -ENOTSUPP || error == -EINVAL;
}

/* -ENOTSUPP is the kernel's own number for an instruction that it cannot run elsewhere. */
static void warn(const struct place *place)
{
	const struct stapy_uprobe_row *row = first_of(place);
	const char *cause = NULL;

	if (place->error == -ENOTSUPP)
		cause = "the kernel cannot move this instruction";
	else if (place->error == -EINVAL)
		cause = "it is armed already with another counter of listeners, or without one";
	else if (place->error == -ENOMEM || place->error == -EFAULT || place->error == -EINTR)
		cause = "one of the processes that map it did not let it";
	if (cause)
		stapy_warn("probe %s at 0x%llx of the file cannot be armed: %s (rc %d)",
			   row->site.point, row->offset, cause, place->error);
	else
		stapy_warn("probe %s registration error (rc %d)", row->site.point, place->error);
}

static int arm_all(void)
{
	unsigned int i, errors = 0;

	for (i = 0; i < nr_places; i++) {
		/* Each takes as long as there are processes that map the file. */
		if (stapy_interrupted())
			return -EINTR;
		if (is_wanted(&places[i]))
			arm(&places[i]);
		cond_resched();
	}
	for (i = 0; i < nr_places; i++)
		if (places[i].error && !first_of(&places[i])->optional && ++errors <= TOLD)
			warn(&places[i]);
	if (errors > TOLD)
		stapy_warn("%u more places of programs cannot be armed", errors - TOLD);
	return 0;
}

static void disarm_all(void)
{
	unsigned int i;

	for (i = 0; i < nr_places; i++)
		if (places[i].uprobe.armed)
			disarm(&places[i]);
	stapy_uprobes_settle();
}

static void rearm(void *rows, unsigned int count)
{
	bool disarmed = false;
	unsigned int i;

	for (i = 0; i < nr_places; i++) {
		struct place *place = &places[i];
		int before = place->error;

		if (is_final(before) || is_wanted(place) == place->uprobe.armed)
			continue;
		if (place->uprobe.armed) {
			disarm(place);
			disarmed = true;
		} else {
			arm(place);
			if (place->error && place->error != before)
				warn(place);
		}
	}
	if (disarmed)
		stapy_uprobes_settle();
}

/* --- the family --- */

static int scope_of(const struct stapy_uprobe_row *row)
{
	if (row->pid)
		return stapy_target_scope(STAPY_SCOPE_PID, NULL, row->pid);
	if (row->program)
		return stapy_target_scope(STAPY_SCOPE_FILE, row->program, 0);
	return stapy_session.target ? stapy_target_scope(STAPY_SCOPE_ALL, NULL, 0) : EVERYBODY;
}

/* Files that optional points name may be missing. */
static int find_files(struct stapy_uprobe_row *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_uprobe_row *row = &rows[i];
		int r;

		row->scope = scope_of(row);
		row->held = stapy_user_file_find(row->file);
		r = row->scope < EVERYBODY ? row->scope :
		    !row->held ? -ENOENT :
		    !row->held->guarded ? -ETXTBSY : 0;
		if (r == -ENOMEM)
			return r;
		following |= row->scope >= 0;
		if (!r)
			continue;
		row->held = NULL;
		if (!row->optional)
			stapy_warn("probe %s registration error (rc %d)", row->site.point, r);
	}
	return 0;
}

/* When processes are followed, which makes the sets; they last until that ends. */
static void find_members(struct stapy_uprobe_row *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		rows[i].members = rows[i].held && rows[i].scope >= 0 ?
				  stapy_target_members(rows[i].scope) : NULL;
}

/* With -D STP_ALIBI there is nothing to keep. */
static size_t most_slots(struct stapy_uprobe_row *rows, unsigned int count)
{
	size_t most = 0;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!rows[i].site.probe->entry)
			rows[i].slot_bytes = 0;
		most = max(most, rows[i].slot_bytes);
	}
	return most;
}

/* Processes are followed for their scopes only. */
static const struct stapy_target_events nothing;

static void stop(void *rows, unsigned int count)
{
	disarm_all();
	if (following)
		stapy_targets_stop(&nothing);
	following = false;
	stapy_kept_free();
	kvfree(places);
	places = NULL;
	nr_places = 0;
	stapy_user_files_release();
}

static int start(void *rows, unsigned int count)
{
	size_t slots = most_slots(rows, count);
	int r;

	stapy_user_files_keep();
	r = find_files(rows, count);
	if (!r && following)
		r = stapy_targets_start(&nothing);
	if (!r && slots)
		r = stapy_kept_alloc(slots);
	if (!r)
		find_members(rows, count);
	r = r ?: make_places(rows, count);
	r = r ?: arm_all();
	if (r)
		stop(rows, count);
	return r;
}

/* Only what places are in is guarded; a scope's program may be replaced as its owner likes. */
static int open_file(void *rows, unsigned int count, int fd, const char *name)
{
	const struct stapy_uprobe_row *all = rows;
	bool guard = false;
	unsigned int i;

	for (i = 0; i < count && !guard; i++)
		guard = !strcmp(all[i].file, name);
	return stapy_user_file_add(fd, name, guard);
}

static void release(void *rows, unsigned int count)
{
	stapy_user_files_release();
}

static u64 missed(void *rows, unsigned int count)
{
	return stapy_kept_missed();
}

const struct stapy_family stapy_uprobe = {
	.name = "uprobe",
	.start = start,
	.stop = stop,
	.missed = missed,
	.rearm = rearm,
	.file = open_file,
	.release = release,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions and places of user programs. The kernel arms a place of a file in every process
 * that maps it, also later: so all that is left to ask is whose processes a row means. The
 * filter answers that when a place is armed in an address space, and every hit asks again
 * (uprobe_hit.c), since a child is born with its parent's breakpoints.
 */
#include <linux/sort.h>

#include "../hit.h"
#include "../transport/control.h"
#include "../user/entries.h"
#include "../user/files.h"
#include "../user/targets.h"
#include "uprobe_place.h"

#define EVERYBODY (-1)
#define TOLD 10				/* places that cannot be armed, each by itself */

static struct stapy_uprobe_place *places;
static unsigned int nr_places;
static bool following;			/* some rows are meant for some processes only */

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
static bool is_at(const struct stapy_uprobe_place *place, const struct stapy_uprobe_row *row)
{
	return !place->counter || place->counter == row->counter;
}

/* Rows of one place are in the order of the script. */
static void add_row(struct stapy_uprobe_place *place, struct stapy_uprobe_row *row)
{
	struct stapy_uprobe_row **next = row->is_return ? &place->returns : &place->entries;

	while (*next && *next < row)
		next = &(*next)->same;
	row->same = *next;
	*next = row;
	place->everybody |= row->scope < 0;
	place->counter = row->counter;
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
		stapy_uprobe_set_callbacks(&places[i]);
	return 0;
}

static const struct stapy_uprobe_row *first_of(const struct stapy_uprobe_place *place)
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

static bool is_wanted(const struct stapy_uprobe_place *place)
{
	return any_wanted(place->entries) || any_wanted(place->returns);
}

static void arm(struct stapy_uprobe_place *place)
{
	const struct stapy_uprobe_row *row = first_of(place);

	place->error = stapy_uprobe_arm(&place->uprobe, row->held->real, row->offset, place->counter);
}

static void disarm(struct stapy_uprobe_place *place)
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
static void warn(const struct stapy_uprobe_place *place)
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
		struct stapy_uprobe_place *place = &places[i];
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

/* Calls whose return the kernel will not tell of are none that a probe was skipped for. */
static u64 missed(void *rows, unsigned int count)
{
	long lost = stapy_uprobe_lost_returns();

	if (lost)
		stapy_warn("%ld returns of functions are missing: of each thread the kernel knows those "
			   "of the outermost %u calls", lost, MAX_URETPROBE_DEPTH);
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

// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that return probes of user functions keep from the entry. */
#include "../internal.h"
#include "entries.h"

#define WAYS 8				/* places that a call can have */
#define FRAMES 4096			/* without -D MAXENTRYFRAMES */

static char *table;
static size_t place_bytes;
static unsigned int mask;		/* of groups of WAYS */
static atomic_long_t not_kept;

static struct stapy_kept *place_at(unsigned int number)
{
	return (struct stapy_kept *)(table + number * place_bytes);
}

static unsigned int group_of(const void *row, unsigned long frame)
{
	u64 mixed = (frame >> 3) + (unsigned long)row + (unsigned long)current->mm;

	return WAYS * (mixed * STAPY_MIX >> 32 & mask);
}

static bool claim(struct stapy_kept *kept)
{
	return !atomic_read(&kept->busy) && !atomic_cmpxchg(&kept->busy, 0, 1);
}

static u64 born(void)
{
	return current->group_leader->start_boottime;
}

static bool is_of(const struct stapy_kept *kept, const void *row, unsigned long frame)
{
	return READ_ONCE(kept->frame) == frame && READ_ONCE(kept->row) == row &&
	       READ_ONCE(kept->mm) == current->mm && READ_ONCE(kept->born) == born();
}

/* Claim the place of a call, among those that it can have. */
static struct stapy_kept *find(unsigned int first, const void *row, unsigned long frame)
{
	unsigned int i;

	for (i = 0; i < WAYS; i++) {
		struct stapy_kept *kept = place_at(first + i);

		if (!is_of(kept, row, frame) || !claim(kept))
			continue;
		/* Somebody may have had it in between. */
		if (is_of(kept, row, frame))
			return kept;
		stapy_kept_done(kept, true);
	}
	return NULL;
}

/* Who finds a place in use takes another one; nobody waits. */
struct stapy_kept *stapy_keep_entry(const void *row, unsigned long frame)
{
	unsigned int first = group_of(row, frame), i, tries, taken = 0;
	struct stapy_kept *kept;

	/* What an earlier call left at this frame is never found again. */
	kept = find(first, row, frame);
	if (kept) {
		kept->age = get_cycles();
		return kept;
	}
	for (tries = 0; tries < WAYS; tries++) {
		unsigned int oldest = WAYS;

		for (i = 0; i < WAYS; i++) {
			u64 age = READ_ONCE(place_at(first + i)->age);

			if (!(taken & BIT(i)) &&
			    (oldest == WAYS || age < READ_ONCE(place_at(first + oldest)->age)))
				oldest = i;
		}
		kept = place_at(first + oldest);
		if (claim(kept)) {
			kept->row = row;
			kept->mm = current->mm;
			kept->born = born();
			kept->frame = frame;
			kept->age = get_cycles();
			return kept;
		}
		taken |= BIT(oldest);
	}
	return NULL;
}

struct stapy_kept *stapy_kept_entry(const void *row, unsigned long frame)
{
	struct stapy_kept *kept = find(group_of(row, frame), row, frame);

	if (!kept)
		atomic_long_inc(&not_kept);
	return kept;
}

void stapy_kept_drop(const void *row, unsigned long frame)
{
	struct stapy_kept *kept = find(group_of(row, frame), row, frame);

	if (kept)
		stapy_kept_done(kept, false);
}

void stapy_kept_done(struct stapy_kept *kept, bool valid)
{
	if (!valid) {
		WRITE_ONCE(kept->row, NULL);
		WRITE_ONCE(kept->age, 0);
	}
	atomic_set_release(&kept->busy, 0);
}

int stapy_kept_alloc(size_t bytes)
{
	unsigned int frames = max(stapy_session.limits.maxentryframes, 0) ?: FRAMES;
	unsigned int groups = roundup_pow_of_two(DIV_ROUND_UP(frames, WAYS));

	place_bytes = ALIGN(sizeof(struct stapy_kept) + bytes, 8);
	table = stapy_alloc(groups * WAYS, place_bytes);
	if (!table)
		return -ENOMEM;
	mask = groups - 1;
	return 0;
}

void stapy_kept_free(void)
{
	kvfree(table);
	table = NULL;
}

u64 stapy_kept_missed(void)
{
	return atomic_long_read(&not_kept);
}

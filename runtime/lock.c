// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks of globals. Nothing waits longer than MAXTRYLOCK tries, so no lock can hang the machine. */
#include "internal.h"

#define REPORTED 32			/* globals whose failures are told apart */
#define HASTY_TRIES 100			/* a microsecond apart */

static struct {
	const char *name;
	atomic_t count;
} failed[REPORTED];

static void count_failure(const char *name)
{
	const struct stapy_site *site = this_cpu_ptr(stapy_cpus)->c.site;
	unsigned int i;

	for (i = 0; i < REPORTED; i++) {
		const char *known = cmpxchg(&failed[i].name, NULL, name);

		if (!known || known == name) {
			atomic_inc(&failed[i].count);
			break;
		}
	}
	stapy_skip(STAPY_SKIP_LOCK, site ? site->probe : NULL);
}

static bool retry(const struct stapy_lock_row *row, bool hasty)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	int tries = hasty ? HASTY_TRIES : limits->maxtrylock;
	int i;

	for (i = 0; i < tries; i++) {
		cpu_relax();		/* an emulated CPU has the one that holds the lock go on */
		udelay(hasty ? 1 : limits->trylockdelay);
		if (stapy_lock_try(row))
			return true;
	}
	return false;
}

bool stapy_lock_wait(const struct stapy_lock_row *rows, unsigned int first, unsigned int count)
{
	bool hasty = this_cpu_ptr(stapy_cpus)->c.hasty;
	unsigned int i;

	for (i = first; i < count; i++) {
		if (stapy_lock_try(&rows[i]) || retry(&rows[i], hasty))
			continue;
		stapy_unlock(NULL, rows, i);
		if (hasty)
			return false;
		count_failure(rows[i].name);
		return false;
	}
	return true;
}

bool stapy_lock_far(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count)
{
	return stapy_lock(c, rows, count);
}

void stapy_unlock_far(struct stapy_context *c, const struct stapy_lock_row *rows,
		      unsigned int count)
{
	stapy_unlock(c, rows, count);
}

void stapy_lock_report(void)
{
	unsigned int i;

	for (i = 0; i < REPORTED && failed[i].name; i++)
		stapy_warn("Skipped due to global '%s' lock timeout: %d", failed[i].name,
			   atomic_read(&failed[i].count));
}

const char *stapy_lock_worst(void)
{
	unsigned int i, worst = 0;

	for (i = 1; i < REPORTED && failed[i].name; i++)
		if (atomic_read(&failed[i].count) > atomic_read(&failed[worst].count))
			worst = i;
	return failed[worst].name ?: "";
}

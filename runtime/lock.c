// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks of globals. Nothing waits longer than MAXTRYLOCK tries, so no lock can hang the machine. */
#include "internal.h"

#define REPORTED 32			/* globals whose failures are told apart */

static struct {
	const char *name;
	atomic_t count;
} failed[REPORTED];

static inline bool take_read(struct stapy_lock *lock)
{
	int state = atomic_read(&lock->state);

	return state >= 0 && atomic_cmpxchg_acquire(&lock->state, state, state + 1) == state;
}

static inline bool take_write(struct stapy_lock *lock)
{
	return atomic_cmpxchg_acquire(&lock->state, 0, -1) == 0;
}

static inline void release(const struct stapy_lock_row *row)
{
	if (row->write)
		atomic_set_release(&row->lock->state, 0);
	else
		atomic_dec_return_release(&row->lock->state);
}

static void count_failure(const char *name)
{
	unsigned int i;

	for (i = 0; i < REPORTED; i++) {
		const char *known = cmpxchg(&failed[i].name, NULL, name);

		if (!known || known == name) {
			atomic_inc(&failed[i].count);
			break;
		}
	}
	stapy_skip(STAPY_SKIP_LOCK);
}

static noinline bool retry(const struct stapy_lock_row *row)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	int i;

	for (i = 0; i < limits->maxtrylock; i++) {
		udelay(limits->trylockdelay);
		if (row->write ? take_write(row->lock) : take_read(row->lock))
			return true;
	}
	return false;
}

bool stapy_lock(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct stapy_lock_row *row = &rows[i];

		if (likely(row->write ? take_write(row->lock) : take_read(row->lock)))
			continue;
		if (retry(row))
			continue;
		stapy_unlock(c, rows, i);
		count_failure(row->name);
		return false;
	}
	return true;
}

void stapy_unlock(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count)
{
	while (count--)
		release(&rows[count]);
}

void stapy_lock_report(void)
{
	unsigned int i;

	for (i = 0; i < REPORTED && failed[i].name; i++)
		stapy_warn("Skipped due to global '%s' lock timeout: %d", failed[i].name,
			   atomic_read(&failed[i].count));
}

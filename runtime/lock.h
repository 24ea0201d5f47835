/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of globals: readers and one writer, try only, usable from NMI. */
#ifndef STAPY_LOCK_H
#define STAPY_LOCK_H

struct stapy_lock {
	atomic_t state;			/* -1: a writer, n > 0: readers */
};

struct stapy_lock_row {
	struct stapy_lock *lock;
	bool write;
	const char *name;		/* of the global, for the report */
};

static __always_inline bool stapy_lock_try(const struct stapy_lock_row *row)
{
	atomic_t *state = &row->lock->state;
	int readers;

	if (row->write)
		return atomic_cmpxchg_acquire(state, 0, -1) == 0;
	readers = atomic_read(state);
	return readers >= 0 && atomic_cmpxchg_acquire(state, readers, readers + 1) == readers;
}

/* Rows from number `first` on, which was found taken. */
bool stapy_lock_wait(const struct stapy_lock_row *rows, unsigned int first, unsigned int count);

/* Take all or none; false when MAXTRYLOCK tries were not enough (counted as a skipped hit). */
static __always_inline bool stapy_lock(struct stapy_context *c, const struct stapy_lock_row *rows,
				       unsigned int count)
{
	unsigned int i;

	/* Handlers know their rows: unrolled, nothing is left of them but the locks. */
#pragma GCC unroll 4
	for (i = 0; i < count; i++)
		if (unlikely(!stapy_lock_try(&rows[i])))
			return stapy_lock_wait(rows, i, count);
	return true;
}

static __always_inline void stapy_unlock(struct stapy_context *c, const struct stapy_lock_row *rows,
					 unsigned int count)
{
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		if (rows[i].write)
			atomic_set_release(&rows[i].lock->state, 0);
		else
			atomic_dec_return_release(&rows[i].lock->state);
	}
}

/* The same as calls. */
bool stapy_lock_far(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count);
void stapy_unlock_far(struct stapy_context *c, const struct stapy_lock_row *rows,
		      unsigned int count);

#endif

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

/* Take all or none; false when MAXTRYLOCK tries were not enough (counted as a skipped hit). */
bool stapy_lock(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count);
void stapy_unlock(struct stapy_context *c, const struct stapy_lock_row *rows, unsigned int count);

#endif

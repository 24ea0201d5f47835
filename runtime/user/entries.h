/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What return probes of user functions keep from the entry of a call, by the address that its
 * return address has on the stack. A call that never returns (longjmp, an exception, the end of
 * a thread) leaves its values behind, until a call at the same address or one that needs the
 * place writes over them.
 */
#ifndef STAPY_USER_ENTRIES_H
#define STAPY_USER_ENTRIES_H

struct stapy_kept {
	atomic_t busy;			/* a handler writes or reads it */
	const void *row;		/* NULL: free */
	const struct mm_struct *mm;
	u64 born;			/* when the process was: others get the same address space */
	unsigned long frame;
	u64 age;			/* cycle count when it was made */
	char values[] __aligned(8);
};

/* Places for calls that are under way, each with so many bytes of values. */
int stapy_kept_alloc(size_t bytes);
void stapy_kept_free(void);
/* Returns that found no values. */
u64 stapy_kept_missed(void);

/* A place for the values of a call of the current process; NULL when all it can have are in use. */
struct stapy_kept *stapy_keep_entry(const void *row, unsigned long frame);
/* The values of a call that returns, or NULL. */
struct stapy_kept *stapy_kept_entry(const void *row, unsigned long frame);
/* A call that is passed over, at its beginning or its end: what is kept at its frame is none of it. */
void stapy_kept_drop(const void *row, unsigned long frame);
/* Whoever was given one by these two gives it back, with values in it or not. */
void stapy_kept_done(struct stapy_kept *kept, bool valid);

#endif

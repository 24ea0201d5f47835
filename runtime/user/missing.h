/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a program that is not there when a handler reads it: a page of its file that it has
 * not touched, or one that was swapped out. Handlers cannot wait for it, but the breakpoint that
 * they were called by can: the handler is left, the page is brought in, and it runs once more.
 */
#ifndef STAPY_USER_MISSING_H
#define STAPY_USER_MISSING_H

#define STAPY_MISSING_TRIES 16		/* pages that one hit may wait for */

/*
 * Bring in the first page of the current process's from an address on that is not there; false
 * when none of them can be had. May sleep: never for as long as somebody likes, see missing.c.
 */
bool stapy_missing_fetch(unsigned long address, size_t bytes);

/* Whether the hit is to run once more. Instead of stapy_hit_leave(). */
static __always_inline bool stapy_missing_leave(struct stapy_context *c, unsigned int *tries)
{
	unsigned long address;
	size_t bytes;

	if (likely(!c->attention || !c->missed)) {
		stapy_hit_leave(c);
		return false;
	}
	address = c->missing;
	bytes = c->missing_bytes;
	stapy_hit_leave(c);
	*tries = stapy_missing_fetch(address, bytes) ? *tries - 1 : 0;
	return true;
}

#endif

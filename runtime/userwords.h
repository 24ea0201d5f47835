/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Longs in the memory of the current process, which are 32-bit ones in a 32-bit process. */
#ifndef STAPY_USERWORDS_H
#define STAPY_USERWORDS_H

#include <linux/stat.h>
#include <asm/syscall.h>

#ifdef CONFIG_COMPAT
#include <linux/compat.h>
/* By the way the call came, which a 64-bit program may choose, too. */
#define STAPY_STRUCT_COMPAT() in_compat_syscall()
#else
#define STAPY_STRUCT_COMPAT() false
#endif

/* 32-bit calls that take times of 64 bits: clock_gettime64 to sched_rr_get_interval_time64. */
#define STAPY_FIRST_TIME64 403
#define STAPY_LAST_TIME64 423

/* Are the longs of times that the current call points to 32-bit ones? */
static __maybe_unused bool stapy_short_times(void)
{
	int number;

	if (!STAPY_STRUCT_COMPAT())
		return false;
	number = syscall_get_nr(current, task_pt_regs(current));
	return number < STAPY_FIRST_TIME64 || number > STAPY_LAST_TIME64;
}

/* Bytes of a long of the current process. */
#define STAPY_STRUCT_LONG() (STAPY_STRUCT_COMPAT() ? 4u : (unsigned int)sizeof(long))

/* count longs of 32 or 64 bits of the current process at address; false on a fault. */
static __maybe_unused bool stapy_user_words(s64 *to, unsigned long address, unsigned int count,
					    bool halves)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (halves) {
			s32 half;

			if (stapy_peek_user(&half, address + 4 * i, 4))
				return false;
			to[i] = half;
		} else if (stapy_peek_user(&to[i], address + sizeof(long) * i, sizeof(long))) {
			return false;
		}
	}
	return true;
}

/* count longs of the current process at address, which may be 32-bit ones; false on a fault. */
static __maybe_unused bool stapy_user_longs(s64 *to, unsigned long address, unsigned int count)
{
	return stapy_user_words(to, address, count, STAPY_STRUCT_COMPAT());
}

/* Text for a pointer whose target is not shown; true when it was that. */
static __maybe_unused bool stapy_struct_plain(char *to, size_t bytes, unsigned long address,
					      s64 *values, unsigned int count)
{
	if (!address)
		stapy_copy(to, "NULL", bytes);
	else if (!stapy_user_longs(values, address, count))
		snprintf(to, bytes, "0x%lx", address);
	else
		return false;
	return true;
}

/* The same for pairs of seconds and a fraction of them. */
static __maybe_unused bool stapy_struct_plain_times(char *to, size_t bytes, unsigned long address,
						    s64 *values, unsigned int count)
{
	unsigned int i;

	if (!address) {
		stapy_copy(to, "NULL", bytes);
		return true;
	}
	if (!stapy_user_words(values, address, count, stapy_short_times())) {
		snprintf(to, bytes, "0x%lx", address);
		return true;
	}
	/* A fraction has 32 bits in a 32-bit call, and the other half can be anything. */
	for (i = 1; STAPY_STRUCT_COMPAT() && i < count; i += 2)
		values[i] = (s32)values[i];
	return false;
}

/* Pairs of seconds and a fraction of `digits` digits, n of them. */
static __maybe_unused void stapy_struct_times(char *to, size_t bytes, unsigned long address,
					      unsigned int n, int digits, const char *between)
{
	s64 v[4] = { 0 };
	size_t used;

	if (stapy_struct_plain_times(to, bytes, address, v, 2 * n))
		return;
	used = snprintf(to, bytes, "[%lld.%0*lld", v[0], digits, v[1]);
	if (n > 1 && used < bytes)
		used += snprintf(to + used, bytes - used, "%s%lld.%0*lld", between, v[2], digits, v[3]);
	if (used + 1 < bytes)
		strcpy(to + used, "]");
}

#endif

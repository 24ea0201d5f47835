/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Longs in the memory of the current process, which are 32-bit ones in a 32-bit process. */
#ifndef STAPY_USERWORDS_H
#define STAPY_USERWORDS_H

#include <linux/stat.h>

#ifdef CONFIG_COMPAT
#include <linux/compat.h>
/* By the way the call came, which a 64-bit program may choose, too. */
#define STAPY_STRUCT_COMPAT() in_compat_syscall()
#else
#define STAPY_STRUCT_COMPAT() false
#endif

/* Bytes of a long of the current process. */
#define STAPY_STRUCT_LONG() (STAPY_STRUCT_COMPAT() ? 4u : (unsigned int)sizeof(long))

/* count longs of the current process at address, which may be 32-bit ones; false on a fault. */
static __maybe_unused bool stapy_user_longs(s64 *to, unsigned long address, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (STAPY_STRUCT_COMPAT()) {
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

/* Pairs of seconds and a fraction of `digits` digits, n of them. */
static __maybe_unused void stapy_struct_times(char *to, size_t bytes, unsigned long address,
					      unsigned int n, int digits, const char *between)
{
	s64 v[4] = { 0 };
	size_t used;

	if (stapy_struct_plain(to, bytes, address, v, 2 * n))
		return;
	used = snprintf(to, bytes, "[%lld.%0*lld", v[0], digits, v[1]);
	if (n > 1 && used < bytes)
		used += snprintf(to + used, bytes - used, "%s%lld.%0*lld", between, v[2], digits, v[3]);
	if (used + 1 < bytes)
		strcpy(to + used, "]");
}

#endif

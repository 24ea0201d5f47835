/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Embedded C of older scripts says strlcpy(), which the kernel dropped in 6.8. */
#ifndef STAPY_COMPAT_STRING_H
#define STAPY_COMPAT_STRING_H

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
static inline size_t strlcpy(char *to, const char *from, size_t bytes)
{
	size_t length = strlen(from);

	if (bytes) {
		size_t copied = min(length, bytes - 1);

		memcpy(to, from, copied);
		to[copied] = '\0';
	}
	return length;
}
#endif

#endif

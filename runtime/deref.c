// SPDX-License-Identifier: GPL-2.0-or-later
/* Checked access of embedded C by SystemTap's older names. */
#include "internal.h"

static int peek(bool user, void *to, unsigned long address, size_t size)
{
	return user ? stapy_peek_user(to, address, size) : stapy_peek_kernel(to, address, size);
}

bool stapy_deref(struct stapy_context *c, bool user, u64 *to, unsigned long address, size_t size)
{
	*to = 0;	/* little endian: the first bytes are the low ones */
	if (size > sizeof(*to))
		return stapy_error(c, NULL, "kderef() of %zu bytes: at most 8 are a number", size);
	if (!peek(user, to, address, size))
		return true;
	stapy_fault_address(c, address);
	return false;
}

/* Memory is there or missing by pages, so a byte of each page tells. */
static bool readable(bool user, unsigned long address, size_t size)
{
	unsigned long last = address + size - 1, at = address;
	u8 byte;

	if (last < address || size > SZ_16M)	/* longer would be a loop that is felt */
		return false;
	for (;;) {
		if (peek(user, &byte, at, 1))
			return false;
		if ((at | ~PAGE_MASK) >= last)
			return true;
		at = (at | ~PAGE_MASK) + 1;
	}
}

bool stapy_deref_buffer(struct stapy_context *c, bool user, void *to, unsigned long address,
			size_t size)
{
	if (!size || (to ? !peek(user, to, address, size) : readable(user, address, size)))
		return true;
	stapy_fault_address(c, address);
	return false;
}

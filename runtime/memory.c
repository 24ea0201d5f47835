// SPDX-License-Identifier: GPL-2.0-or-later
/* Checked access to memory. */
#include "internal.h"

/* Strings are read in chunks that end with their page, so nothing behind the string can fault. */
#define STRING_CHUNK 64

int stapy_peek_kernel(void *to, unsigned long address, size_t size)
{
	return copy_from_kernel_nofault(to, (const void *)address, size) ? -EFAULT : 0;
}

int stapy_peek_user(void *to, unsigned long address, size_t size)
{
	return copy_from_user_nofault(to, (const void __user *)address, size) ? -EFAULT : 0;
}

static __always_inline long peek_string(char *to, unsigned long address, size_t bytes,
					int (*peek)(void *, unsigned long, size_t))
{
	size_t done = 0;

	if (!bytes)
		return 0;
	while (done < bytes - 1) {
		size_t n = min_t(size_t, bytes - 1 - done, STRING_CHUNK), length;

		n = min_t(size_t, n, PAGE_SIZE - offset_in_page(address + done));
		if (peek(to + done, address + done, n)) {
			to[0] = '\0';
			return -EFAULT;
		}
		length = strnlen(to + done, n);
		done += length;
		if (length < n)
			break;
	}
	to[done] = '\0';
	return done;
}

long stapy_peek_kernel_string(char *to, unsigned long address, size_t bytes)
{
	return peek_string(to, address, bytes, stapy_peek_kernel);
}

long stapy_peek_user_string(char *to, unsigned long address, size_t bytes)
{
	return peek_string(to, address, bytes, stapy_peek_user);
}

static bool fault(struct stapy_context *c, const char *what, unsigned long address,
		  const char *place)
{
	return stapy_error(c, place, "%s fault [man error::fault] at 0x%016lx (addr)", what, address);
}

void stapy_fault_address(struct stapy_context *c, unsigned long address)
{
	fault(c, "read", address, NULL);
}

bool stapy_read_kernel(struct stapy_context *c, void *to, unsigned long address, size_t size,
		       const char *place)
{
	return likely(!stapy_peek_kernel(to, address, size)) || fault(c, "read", address, place);
}

bool stapy_read_user(struct stapy_context *c, void *to, unsigned long address, size_t size,
		     const char *place)
{
	return likely(!stapy_peek_user(to, address, size)) || fault(c, "read", address, place);
}

bool stapy_write_kernel(struct stapy_context *c, unsigned long address, const void *from,
			size_t size, const char *place)
{
	return !stapy_store_kernel(address, from, size) || fault(c, "write", address, place);
}

bool stapy_write_user(struct stapy_context *c, unsigned long address, const void *from,
		      size_t size, const char *place)
{
	/* In an NMI the page tables may be those of another task than current. */
	if (in_nmi() || copy_to_user_nofault((void __user *)address, from, size))
		return fault(c, "write", address, place);
	return true;
}

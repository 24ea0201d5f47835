// SPDX-License-Identifier: GPL-2.0-or-later
/* Access that few scripts need: registers by number, embedded C's reads by SystemTap's names. */
#include "internal.h"

static int peek(bool user, void *to, unsigned long address, size_t size)
{
	return user ? stapy_peek_user(to, address, size) : stapy_peek_any(to, address, size);
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

static bool fetch(struct stapy_context *c, s64 *to, struct pt_regs *regs, unsigned int offset,
		  const char *what, const char *place)
{
	if (!regs)
		return stapy_error(c, place, "no %s registers in this probe", what);
	*to = regs_get_register(regs, offset);
	return true;
}

bool stapy_kernel_register(struct stapy_context *c, s64 *to, unsigned int offset, const char *place)
{
	return fetch(c, to, c->regs, offset, "kernel", place);
}

bool stapy_user_register(struct stapy_context *c, s64 *to, unsigned int offset, const char *place)
{
	struct pt_regs *regs = c->user_regs;

	/* A kernel probe sees those with which the process entered the kernel; begin is nobody's. */
	if (!regs && !c->interruptible && current->mm && !(current->flags & PF_KTHREAD))
		regs = task_pt_regs(current);
	return fetch(c, to, regs, offset, "user", place);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Checked access to memory. */
#include "internal.h"

/* Strings are read in chunks that end with their page, so nothing behind the string can fault. */
#define STRING_CHUNK 64

/*
 * A script for unprivileged users (--privilege=stapusr) sees no memory but that of the processes
 * of the user who runs it, whatever it has been told as an address.
 */
static __always_inline bool forbidden_kernel(void)
{
	return unlikely(stapy_session.limits.unprivileged);
}

/*
 * Without memory of its own, a kernel thread or a process at its end has another's before it,
 * which not all machines tell from its own.
 */
static __always_inline bool forbidden_user(void)
{
	return !current->mm || (unlikely(stapy_session.limits.unprivileged) && !stapy_is_myproc());
}

bool stapy_assert_myproc(struct stapy_context *c, const char *place)
{
	if (likely(stapy_is_myproc()))
		return true;
	return stapy_error(c, place, "myproc-unprivileged tapset function called without is_myproc "
			   "checking for pid %d (euid %d)", current->tgid,
			   __kuid_val(current_euid()));
}

int stapy_peek_kernel(void *to, unsigned long address, size_t size)
{
	if (forbidden_kernel() || !stapy_may_be_kernel(address, size))
		return -EFAULT;
	return copy_from_kernel_nofault(to, (const void *)address, size) ? -EFAULT : 0;
}

int stapy_peek_user(void *to, unsigned long address, size_t size)
{
	if (forbidden_user())
		return -EFAULT;
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
	size_t length;

	if (!forbidden_user() && stapy_user_string_words(to, address, bytes, &length))
		return length;
	return peek_string(to, address, bytes, stapy_peek_user);
}

static bool fault(struct stapy_context *c, const char *what, unsigned long address,
		  const char *place)
{
	/* What was said of other memory is not the reason. */
	if (address != c->missing)
		c->unwaited = STAPY_WAITED;
	return stapy_error(c, place, "%s fault [man error::fault] at 0x%lx", what, address);
}

void stapy_fault_address(struct stapy_context *c, unsigned long address)
{
	fault(c, "read", address, NULL);
}

static enum stapy_unwaited why_unwaited(const struct stapy_context *c, unsigned long address)
{
	if (c->repeatable == 1 || address < PAGE_SIZE || address >= TASK_SIZE_MAX)
		return STAPY_WAITED;	/* in vain, or there is nothing to wait for */
	if (!c->repeatable)
		return STAPY_UNWAITED_KIND;
	if (c->changed)
		return STAPY_UNWAITED_CHANGED;
	return c->out.at ? STAPY_UNWAITED_PRINTED : STAPY_WAITED;
}

bool stapy_missed(struct stapy_context *c, unsigned long address, size_t bytes)
{
	if (c->error || forbidden_user())
		return false;
	c->unwaited = why_unwaited(c, address);
	c->eventful = true;
	c->missing = address;
	if (c->repeatable <= 1 || c->changed || c->out.at)
		return false;
	c->missed = true;
	c->missing_bytes = bytes;
	stapy_abort(c);
	return true;
}

/* With --skip-badvars it is 0. */
static bool unread(struct stapy_context *c, void *to, unsigned long address, size_t size,
		   const char *place)
{
	if (!stapy_session.limits.skip_badvars)
		return fault(c, "read", address, place);
	memset(to, 0, size);
	return true;
}

int stapy_peek_any(void *to, unsigned long address, size_t size)
{
	int error = stapy_peek_kernel(to, address, size);

	if (unlikely(error) && IS_ENABLED(CONFIG_ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE))
		error = stapy_peek_user(to, address, size);
	return error;
}

bool stapy_read_kernel(struct stapy_context *c, void *to, unsigned long address, size_t size,
		       const char *place)
{
	if (likely(!stapy_peek_any(to, address, size)))
		return true;
	if (address < TASK_SIZE_MAX && stapy_missed(c, address, size))
		return false;
	return unread(c, to, address, size, place);
}

bool stapy_read_user(struct stapy_context *c, void *to, unsigned long address, size_t size,
		     const char *place)
{
	if (likely(!stapy_peek_user(to, address, size)))
		return true;
	return !stapy_missed(c, address, size) && unread(c, to, address, size, place);
}

bool stapy_write_kernel(struct stapy_context *c, unsigned long address, const void *from,
			size_t size, const char *place)
{
	if (likely(!forbidden_kernel() && !stapy_store_kernel(address, from, size)))
		return true;
	if (IS_ENABLED(CONFIG_ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE))
		return stapy_write_user(c, address, from, size, place);
	return fault(c, "write", address, place);
}

bool stapy_write_user(struct stapy_context *c, unsigned long address, const void *from,
		      size_t size, const char *place)
{
	/* In an NMI the page tables may be those of another task than current. */
	if (in_nmi() || forbidden_user() ||
	    copy_to_user_nofault((void __user *)address, from, size))
		return fault(c, "write", address, place);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What embedded C (tapsets and guru scripts) finds: SystemTap's documented
 * names over this runtime. STAP_ARG_x, STAP_RETVALUE and STAP_RETURN are
 * defined by the generated C around each body.
 *
 * A body is wrapped as
 *
 *	static int64_t f_x(struct stapy_context *c, …)
 *	{
 *		__label__ out, deref_fault;
 *		…body…
 *		goto out; deref_fault: …error…; out: return …;
 *	}
 */
#ifndef STAPY_EMBEDDED_H
#define STAPY_EMBEDDED_H

#define CONTEXT c

typedef long intptr_t;			/* the kernel has its unsigned sister only */

/* Leave the function with a run-time error. */
#define STAP_ERROR(...)						\
	do {							\
		stapy_error(c, NULL, __VA_ARGS__);		\
		goto out;					\
	} while (0)
#define STAP_PRINTF(...) stapy_printf(c, __VA_ARGS__)

/*
 * Checked access as SystemTap has it: the value, or a jump to deref_fault. The
 * forms with a size are for 1, 2, 4 and 8 bytes, those named buffer for any size;
 * these take NULL for "only look whether all of it can be read", up to 16 MiB.
 */
#define __stapy_peek_value(peek, type, ptr)			\
	({							\
		type _value;					\
		if (peek(&_value, (unsigned long)(ptr), sizeof(_value))) { \
			stapy_fault_address(c, (unsigned long)(ptr)); \
			goto deref_fault;			\
		}						\
		_value;						\
	})
#define kread(ptr) __stapy_peek_value(stapy_peek_kernel, typeof(*(ptr)), ptr)
#define uread(ptr) __stapy_peek_value(stapy_peek_user, typeof(*(ptr)), ptr)

#define __stapy_deref(user, size, address)			\
	({							\
		u64 _value;					\
		if (!stapy_deref(c, user, &_value, (unsigned long)(address), (size))) \
			goto deref_fault;			\
		_value;						\
	})
#define kderef(size, address) __stapy_deref(false, size, address)
#define uderef(size, address) __stapy_deref(true, size, address)

#define __stapy_store(write, address, value, size)		\
	do {							\
		if (!write(c, (unsigned long)(address), &(value), (size), NULL)) \
			goto deref_fault;			\
	} while (0)
#define __stapy_write(write, ptr, value)			\
	do {							\
		typeof(*(ptr)) _stored = (value);		\
		__stapy_store(write, ptr, _stored, sizeof(_stored)); \
	} while (0)
#define kwrite(ptr, value) __stapy_write(stapy_write_kernel, ptr, value)
#define uwrite(ptr, value) __stapy_write(stapy_write_user, ptr, value)
#define __stapy_store_deref(write, size, address, value)	\
	do {							\
		u64 _stored = (u64)(value);			\
		__stapy_store(write, address, _stored, min_t(size_t, (size), sizeof(_stored))); \
	} while (0)
#define store_kderef(size, address, value) \
	__stapy_store_deref(stapy_write_kernel, size, address, value)
#define store_uderef(size, address, value) \
	__stapy_store_deref(stapy_write_user, size, address, value)

#define __stapy_deref_buffer(user, to, address, size)		\
	({							\
		if (!stapy_deref_buffer(c, user, (to), (unsigned long)(address), (size))) \
			goto deref_fault;			\
		(to);						\
	})
#define kderef_buffer(to, address, size) __stapy_deref_buffer(false, to, address, size)
#define uderef_buffer(to, address, size) __stapy_deref_buffer(true, to, address, size)
#define CATCH_DEREF_FAULT() do { } while (0)

/* A number of 1, 2, 4 or 8 bytes, without sign; false with the error of a fault set. */
bool stapy_deref(struct stapy_context *c, bool user, u64 *to, unsigned long address, size_t size);
/* Copy memory, or with to = NULL only look whether all of it can be read. */
bool stapy_deref_buffer(struct stapy_context *c, bool user, void *to, unsigned long address,
			size_t size);
void __printf(2, 3) stapy_printf(struct stapy_context *c, const char *fmt, ...);
void __printf(2, 0) stapy_vprintf(struct stapy_context *c, const char *fmt, va_list args);
/*
 * Send a signal to the current process before it is in user mode again (on PREEMPT_RT:
 * soon); false with the error set.
 */
bool stapy_raise(struct stapy_context *c, int number);
/* Set "kernel read fault at 0x… " (SystemTap's words) as the error of this run. */
void stapy_fault_address(struct stapy_context *c, unsigned long address);

#endif

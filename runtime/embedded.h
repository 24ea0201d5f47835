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

/* Leave the function with a run-time error. */
#define STAP_ERROR(...)						\
	do {							\
		stapy_error(c, NULL, __VA_ARGS__);		\
		goto out;					\
	} while (0)
#define STAP_PRINTF(...) stapy_printf(c, __VA_ARGS__)

/* Checked reads as SystemTap has them: the value, or a jump to deref_fault. */
#define kread(ptr)						\
	({							\
		typeof(*(ptr)) _value;				\
		if (stapy_peek_kernel(&_value, (unsigned long)(ptr), sizeof(_value))) { \
			stapy_fault_address(c, (unsigned long)(ptr)); \
			goto deref_fault;			\
		}						\
		_value;						\
	})
#define uread(ptr)						\
	({							\
		typeof(*(ptr)) _value;				\
		if (stapy_peek_user(&_value, (unsigned long)(ptr), sizeof(_value))) { \
			stapy_fault_address(c, (unsigned long)(ptr)); \
			goto deref_fault;			\
		}						\
		_value;						\
	})
#define CATCH_DEREF_FAULT() do { } while (0)

void __printf(2, 3) stapy_printf(struct stapy_context *c, const char *fmt, ...);
/* Set "kernel read fault at 0x… " (SystemTap's words) as the error of this run. */
void stapy_fault_address(struct stapy_context *c, unsigned long address);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of SystemTap's runtime that published scripts call in their C, under
 * its names. None needs the context: helpers outside of functions call them, too.
 */
#ifndef STAPY_OLDNAMES_H
#define STAPY_OLDNAMES_H

#include <asm/syscall.h>

/* The run on this CPU, or NULL outside of handlers. */
struct stapy_context *stapy_current(void);

/* Output of the running handler; outside of one there is nowhere to print, and it is a log message. */
void __printf(1, 2) _stp_printf(const char *fmt, ...);
void _stp_print(const char *text);
static inline void _stp_print_flush(void) { }

/* Messages on the consumer's standard error; an error also ends the session, as exit() does. */
void __printf(1, 2) _stp_warn(const char *fmt, ...);
void __printf(1, 2) _stp_error(const char *fmt, ...);
void __printf(1, 2) _stp_log(const char *fmt, ...);
void __printf(3, 4) _stp_dbug(const char *function, int line, const char *fmt, ...);

/* Less than n. */
unsigned int _stp_random_u(unsigned int n);

#define _stp_exit() stapy_exit()
#define _stp_snprintf(...) scnprintf(__VA_ARGS__)
#define _stp_vsnprintf(...) vscnprintf(__VA_ARGS__)
#define _stp_target (stapy_session.target)
#define _stp_pid (stapy_session.consumer)
#define _stp_gettimeofday_ns() stapy_real_ns()
#define _stp_current_pt_regs() task_pt_regs(current)

/* Number of the system call that the current task is in, -1 when it is in none. */
#define _stp_syscall_nr() ((s64)syscall_get_nr(current, task_pt_regs(current)))

/*
 * Memory: the first four may be called in a handler and fail there when none is
 * at hand; the others sleep and belong into STAP_MODULE_INIT_HOOK.
 */
#define _stp_kmalloc(size) kmalloc(size, GFP_NOWAIT | __GFP_NOWARN)
#define _stp_kzalloc(size) kzalloc(size, GFP_NOWAIT | __GFP_NOWARN)
#define _stp_kmalloc_gfp(size, gfp) kmalloc(size, gfp)
#define _stp_kzalloc_gfp(size, gfp) kzalloc(size, gfp)
#define _stp_vmalloc(size) vmalloc(size)
#define _stp_vzalloc(size) vzalloc(size)
#define _stp_vzalloc_node(size, node) vzalloc_node(size, node)
#define _stp_kfree(address) kfree(address)
#define _stp_vfree(address) vfree(address)

/* How many bytes could not be copied; the length of a text without its NUL, or -EFAULT. */
#define _stp_copy_from_user(to, from, size) \
	(stapy_peek_user(to, (unsigned long)(from), size) ? (unsigned long)(size) : 0UL)
#define _stp_strncpy_from_user(to, from, size) \
	stapy_peek_user_string(to, (unsigned long)(from), size)

#endif

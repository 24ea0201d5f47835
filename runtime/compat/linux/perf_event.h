/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's events for the families that need them; not in compat/kernel.h, since
 * few scripts do and the header is large.
 */
#ifndef STAPY_COMPAT_PERF_EVENT_H
#define STAPY_COMPAT_PERF_EVENT_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

/* Events that the kernel's own code counts come with little more than an address. */
static inline bool stapy_perf_regs_whole(const struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return regs->flags & X86_EFLAGS_FIXED;
#else
	return true;
#endif
}

#endif

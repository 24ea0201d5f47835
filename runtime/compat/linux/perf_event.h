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
#elif defined(CONFIG_ARM64)
	/* A sample with these bits alone is a rare one; its registers are given up with the others'. */
	return regs->pstate != PSR_MODE_EL1h;
#else
	return true;
#endif
}

static inline struct perf_event *stapy_event_in(struct perf_event_context *events,
						const void *handled_with)
{
	struct perf_event *event;

	if (events)
		list_for_each_entry_rcu(event, &events->event_list, event_entry)
			if (event->overflow_handler_context == handled_with)
				return event;
	return NULL;
}

/* The event of a task, or what it has of its parent's, whose handler gets this; NULL. Under RCU. */
static inline struct perf_event *stapy_event_of(const struct task_struct *task,
						const void *handled_with)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return stapy_event_in(rcu_dereference(task->perf_event_ctxp), handled_with);
#else
	struct perf_event *found = NULL;
	unsigned int i;

	for (i = 0; i < perf_nr_task_contexts && !found; i++)
		found = stapy_event_in(rcu_dereference(task->perf_event_ctxp[i]), handled_with);
	return found;
#endif
}

#endif

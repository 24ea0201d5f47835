/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking back work that was given to a task: not exported. It is found by name and called by a
 * static call, which needs no landing mark of indirect branches.
 */
#ifndef STAPY_COMPAT_TASK_WORK_H
#define STAPY_COMPAT_TASK_WORK_H

#include <linux/static_call.h>
#include <linux/task_work.h>

typedef bool stapy_work_match_t(struct callback_head *work, void *data);

DEFINE_STATIC_CALL_NULL(stapy_task_work_find, task_work_cancel_match);

/* NULL, or the name of what this kernel does not have. May sleep. */
static inline const char *stapy_task_work_prepare(void)
{
	static const char name[] = "task_work_cancel_match";
	unsigned long address = stapy_symbol_address(name);

	if (!address)
		return name;
	static_call_update(stapy_task_work_find, (typeof(&task_work_cancel_match))address);
	return NULL;
}

/* True when the work was taken away before it was run. */
static inline bool stapy_task_work_cancel(struct task_struct *task, stapy_work_match_t *match,
					  void *data)
{
	return static_call(stapy_task_work_find)(task, match, data);
}

/* Wait until every task has left the code that it was in, if need be by sleeping. */
static inline void stapy_synchronize_tasks(void)
{
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#else
	synchronize_rcu();
#endif
}

#endif

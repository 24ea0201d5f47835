/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences of <linux/sched/coredump.h>. */
#ifndef STAPY_COMPAT_COREDUMP_H
#define STAPY_COMPAT_COREDUMP_H

#include <linux/sched/coredump.h>
#if __has_include(<linux/sched/exec_state.h>)
#include <linux/sched/exec_state.h>
#endif

/* Whether its user may look at the memory of a task. From 7.3 on the task knows, before that its memory. */
static inline bool stapy_is_dumpable(struct task_struct *task, struct mm_struct *mm)
{
#if __has_include(<linux/sched/exec_state.h>)
	struct task_exec_state *state;
	bool yes;

	rcu_read_lock();
	state = rcu_dereference(task->exec_state);
	yes = state && READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return yes;
#else
	return get_dumpable(mm) == SUID_DUMP_USER;
#endif
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes and threads that are there when somebody looks. */
#ifndef STAPY_USER_TASKS_H
#define STAPY_USER_TASKS_H

#include <linux/sched.h>

static inline bool stapy_is_of_user(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD);
}

/* All user processes, or threads, that there are, with references; NULL without memory. May sleep. */
struct task_struct **stapy_tasks_take(bool threads, unsigned int *found);
void stapy_tasks_release(struct task_struct **tasks, unsigned int count);
/* The file that a process runs, with a reference: any thread knows, and the leader may have ended. */
struct file *stapy_file_of(struct task_struct *leader);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes and threads that are there when somebody looks. */
#include <linux/file.h>
#include "../internal.h"
#include "../compat/linux/file.h"
#include "tasks.h"

struct task_struct **stapy_tasks_take(bool threads, unsigned int *found)
{
	struct task_struct **tasks, *leader, *thread;
	unsigned int room, turn, n;

	for (turn = 0, n = 0; turn < 8; turn++) {
		room = n + n / 8 + 64;
		tasks = stapy_alloc(room, sizeof(*tasks));
		if (!tasks)
			return NULL;
		n = 0;
		rcu_read_lock();
		for_each_process_thread(leader, thread) {
			if (!stapy_is_of_user(thread) || (!threads && thread != leader))
				continue;
			if (n < room)
				tasks[n] = get_task_struct(thread);
			n++;
		}
		rcu_read_unlock();
		*found = min(n, room);
		if (n <= room)
			break;
		/* More came: once more, but what goes on like this is not waited for. */
		if (turn < 7)
			stapy_tasks_release(tasks, *found);
	}
	return tasks;
}

void stapy_tasks_release(struct task_struct **tasks, unsigned int count)
{
	while (count)
		put_task_struct(tasks[--count]);
	kvfree(tasks);
}

struct file *stapy_file_of(struct task_struct *leader)
{
	struct file *file = NULL;
	struct task_struct *thread;
	bool known = false;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		task_lock(thread);
		known = thread->mm;
		if (known)
			file = stapy_exe_file(thread->mm);
		task_unlock(thread);
		if (known)
			break;
	}
	rcu_read_unlock();
	return file;
}

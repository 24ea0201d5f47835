// SPDX-License-Identifier: GPL-2.0-or-later
/* Name spaces of a process that the user named. */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>
#include "internal.h"
#include "transport/control.h"

struct stapy_spaces stapy_spaces;

int stapy_spaces_hold(int number)
{
	struct pid *pid = find_get_pid(number);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	int r = task ? 0 : -ESRCH;

	if (!r && stapy_session.limits.unprivileged && !stapy_owns(task))
		r = -EPERM;
	if (!r) {
		const struct cred *cred = get_task_cred(task);

		/* The number holds its name space. */
		stapy_spaces.pids = get_pid_ns(ns_of_pid(pid));
		stapy_spaces.users = get_user_ns(cred->user_ns);
		put_cred(cred);
	} else {
		stapy_control("error", "Couldn't use the name spaces of process %d: %s", number,
			      r == -ESRCH ? "No such process" : "it is not yours");
	}
	if (task)
		put_task_struct(task);
	put_pid(pid);
	return r;
}

void stapy_spaces_release(void)
{
	if (!stapy_spaces.pids)
		return;
	put_pid_ns(stapy_spaces.pids);
	put_user_ns(stapy_spaces.users);
	stapy_spaces = (struct stapy_spaces){};
}

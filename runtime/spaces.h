/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name spaces that ns_pid() and its kin count in: those of a process that the user named
 * (--target-namespaces), which are held from the start on, for the process may end before the
 * session; or those of the consumer.
 */
#ifndef STAPY_SPACES_H
#define STAPY_SPACES_H

struct stapy_spaces {
	struct pid_namespace *pids;		/* NULL: no process was named */
	struct user_namespace *users;
};

extern struct stapy_spaces stapy_spaces;

/* Hold those of a process, by its number for the caller. -ESRCH, or -EPERM where it is not the user's. */
int stapy_spaces_hold(int pid);
void stapy_spaces_release(void);

#endif

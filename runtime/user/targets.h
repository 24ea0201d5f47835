/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes a probe point means. Each different meaning is a scope, with a bit for each
 * thread group that belongs to it; the scheduler's events keep the bits right.
 */
#ifndef STAPY_USER_TARGETS_H
#define STAPY_USER_TARGETS_H

enum stapy_scope_kind {
	STAPY_SCOPE_ALL,		/* all user processes, with -c and -x those of the target */
	STAPY_SCOPE_FILE,		/* those that run a file */
	STAPY_SCOPE_PATTERN,		/* one of the files that a pattern matched: 8 MiB each */
	STAPY_SCOPE_PID			/* one process */
};

#define STAPY_SCOPES 32		/* a bit of a word for each; stapy/elaborate/analyse/meant.py says no before */
#define STAPY_TARGET_USERS 3		/* families that follow processes */

/* What happens to a process or a thread; in the thread itself, but for those asked for. Each may be NULL. */
struct stapy_target_events {
	/* Before a new image is judged: scopes of the old one, whose programs are still told. */
	void (*leave)(u32 before);
	/* A new image: scopes that the process was in, and those that it is in now. */
	void (*exec)(u32 before, u32 now);
	/* In the parent, before the child runs, be it a thread or the kernel's: then without scopes. */
	void (*fork)(struct task_struct *child, u32 scopes);
	/* Each thread, in any order; the scopes are those of its process until the last is gone. */
	void (*exit)(struct task_struct *task, u32 scopes);
};

/* The number of a scope, the same for equal ones; or -ENOENT, -ESRCH, -E2BIG, -ENOMEM. */
int stapy_target_scope(enum stapy_scope_kind kind, const char *file, int pid);
/*
 * The same of those that run one of the files of a pattern; which ones is said one by one, each by
 * its number, from 1 to count. -ENOENT when the consumer could not open that file.
 */
int stapy_target_pattern(const char *pattern, unsigned int count);
int stapy_target_add(unsigned int scope, unsigned int number, const char *file);
/* Which file of a pattern the process runs that runs this, 0 for none. */
unsigned int stapy_target_program(unsigned int scope);
/*
 * Follow the processes from now on, beginning with those that are there. Each family for itself,
 * with events of its own, when it has asked for its scopes; what it has not begun it may end.
 */
int stapy_targets_start(const struct stapy_target_events *events);
void stapy_targets_stop(const struct stapy_target_events *events);
/* The scopes that a thread group belongs to, a bit for each. Of no kernel thread. */
u32 stapy_targets_of(const struct task_struct *task);
/* The process that runs this is in the scope. */
bool stapy_target_is(unsigned int scope);
/*
 * The members of a scope, by the number of the thread group, for those who ask at each hit in user
 * processes; NULL: all of these. From stapy_targets_start() to stapy_targets_stop().
 */
const unsigned long *stapy_target_members(unsigned int scope);
/* The process of an address space is in the scope, or is about to be: it may be execing. */
bool stapy_target_has(unsigned int scope, struct mm_struct *mm);

#endif

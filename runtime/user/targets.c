// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes are followed: one is judged by the file that it runs when it execs, a child is what
 * its parent is. The bits of a thread group that has ended stay, for its threads come to their
 * ends in any order: a fork writes those of the new group before anybody runs under the number.
 */
#include <linux/binfmts.h>
#include "../hit.h"
#include "../compat/linux/tracepoint.h"
#include "../compat/linux/file.h"
#include "scopes.h"
#include "tasks.h"

static pid_t root;			/* the target of -c or -x */
static bool joining;			/* processes that are there are being judged */
static const struct stapy_target_events *users[STAPY_TARGET_USERS];	/* families; NULL: none */

/* --- what happens --- */

/* Kernels are written in C89 up to 5.17: a counter has to be there before the loop. */
#define FOR_EACH_USER(at, events) \
	for (at = 0; at < ARRAY_SIZE(users); at++) \
		if ((events = READ_ONCE(users[at])))

static bool descends_from(struct task_struct *task, pid_t target)
{
	unsigned int depth;
	bool found = false;

	rcu_read_lock();
	/* The first process has a parent of the number 0, which is its own. */
	for (depth = 0; task->pid && depth < 1000 && !found; depth++) {
		found = task->tgid == target;
		task = rcu_dereference(task->real_parent);
	}
	rcu_read_unlock();
	return found;
}

/* A child that came too late to be among those that are there; its parent may not be judged yet. */
static void join_child(struct task_struct *parent, struct task_struct *child)
{
	if (stapy_hierarchy_exists() && descends_from(parent, root))
		stapy_hierarchy_add(child->tgid);
	if (child->mm)
		stapy_scopes_set(child->tgid, stapy_scopes_judge(stapy_exe_file(child->mm)));
}

static void STAPY_CALLBACK on_fork(void *unused, struct task_struct *parent,
				   struct task_struct *child)
{
	const struct stapy_target_events *events;
	/* What a kernel thread starts, such as a user mode helper, is nobody's child. */
	bool heir = stapy_is_of_user(child) && stapy_is_of_user(parent);
	unsigned int i;

	if (child->tgid != parent->tgid) {
		stapy_scopes_inherit(child->tgid, parent->tgid, heir);
		if (unlikely(smp_load_acquire(&joining)) && heir)
			join_child(parent, child);
	}
	FOR_EACH_USER(i, events)
		if (events->fork)
			events->fork(child, stapy_targets_of(child));
}

static void STAPY_CALLBACK on_exec(void *unused, struct task_struct *task, pid_t old,
				   struct linux_binprm *program)
{
	const struct stapy_target_events *events;
	u32 before = stapy_targets_of(task);
	unsigned int i;

	FOR_EACH_USER(i, events)
		if (events->leave)
			events->leave(before);
	/* Nothing sleeps in here: what is below an overlay's file was found when it was opened. */
	stapy_scopes_set(task->tgid, stapy_scopes_judge(stapy_exe_file(task->mm)));
	FOR_EACH_USER(i, events)
		if (events->exec)
			events->exec(before, stapy_targets_of(task));
}

static void STAPY_CALLBACK on_exit(void *unused, struct task_struct *task)
{
	const struct stapy_target_events *events;
	unsigned int i;

	if (!stapy_is_of_user(task))
		return;
	FOR_EACH_USER(i, events)
		if (events->exit)
			events->exit(task, stapy_targets_of(task));
}

static struct {
	const char *name;
	void *callback;
	struct tracepoint *tp;
	bool armed;
} hooks[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
};

static void find_hook(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(tp->name, hooks[i].name))
			hooks[i].tp = tp;
}

/* --- those that are there --- */

/*
 * A process may exec meanwhile: its own callback then sets the bits by the new file, and
 * here they are set again until the file stays the same.
 */
static void take_in(struct task_struct *leader)
{
	struct stapy_verdict found = stapy_scopes_judge(stapy_file_of(leader)), before;
	unsigned int turns = 0;

	do {
		before = found;
		stapy_scopes_set(leader->tgid, found);
		found = stapy_scopes_judge(stapy_file_of(leader));
	} while (memcmp(&found, &before, sizeof(found)) && turns++ < 8);
}

static int take_in_all(void)
{
	unsigned int i, n;
	struct task_struct **leaders = stapy_tasks_take(false, &n);

	if (!leaders)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (stapy_hierarchy_exists() && descends_from(leaders[i], root))
			stapy_hierarchy_add(leaders[i]->tgid);
		take_in(leaders[i]);
		cond_resched();
	}
	stapy_tasks_release(leaders, n);
	return 0;
}

/* --- life --- */

void stapy_targets_stop(const struct stapy_target_events *events)
{
	unsigned int i, others = 0;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		if (users[i] == events)
			WRITE_ONCE(users[i], NULL);
		others += !!users[i];
	}
	if (others) {
		tracepoint_synchronize_unregister();
		return;
	}
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].armed)
			tracepoint_probe_unregister(hooks[i].tp, hooks[i].callback, NULL);
	tracepoint_synchronize_unregister();
	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		hooks[i].armed = false;
	stapy_scopes_free();
}

/* The thread group of the target, whose number is that of the consumer's namespace. */
static pid_t target_group(void)
{
	struct task_struct *task;
	pid_t group = 0;

	rcu_read_lock();
	task = pid_task(find_vpid(stapy_session.target), PIDTYPE_PID);
	if (task)
		group = task->tgid;
	rcu_read_unlock();
	return group;
}

int stapy_targets_start(const struct stapy_target_events *events)
{
	unsigned int i;
	int r = 0;

	if (!STAPY_TRACEPOINTS) {
		stapy_control("error", "processes are followed by tracepoints, which cannot be probed on this kernel: it was built to check the types of calls (kCFI)");
		return -EOPNOTSUPP;
	}
	root = stapy_session.target ? target_group() : 0;
	for (i = 0; users[i]; i++)
		;
	WRITE_ONCE(users[i], events);
	if (stapy_session.target)
		r = stapy_hierarchy_make();
	/*
	 * A child that is forked meanwhile takes over what its parent is known to be, which may be
	 * nothing yet: until all are judged, each is judged by itself. Who misses this is listed.
	 */
	smp_store_mb(joining, true);
	for_each_kernel_tracepoint(find_hook, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks) && !r; i++) {
		if (hooks[i].armed)
			continue;
		r = hooks[i].tp ? tracepoint_probe_register(hooks[i].tp, hooks[i].callback, NULL) :
				  -ENOENT;
		hooks[i].armed = !r;
	}
	r = r ?: take_in_all();
	smp_store_release(&joining, false);
	if (r)
		stapy_targets_stop(events);
	return r;
}

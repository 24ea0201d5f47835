// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who belongs to which scope. A process is judged by the file that it runs when it execs, a
 * child is what its parent is; so a hit only looks at a bit. The bits of a thread group that has
 * ended stay, for its threads come to their ends in any order: a fork writes those of the new
 * group before anybody runs under the number.
 */
#include <linux/binfmts.h>
#include <linux/file.h>
#include "../hit.h"
#include "../compat/linux/tracepoint.h"
#include "../compat/linux/file.h"
#include "../compat/linux/uprobes.h"
#include "files.h"
#include "targets.h"

#define MEMBER_BYTES (BITS_TO_LONGS(PID_MAX_LIMIT) * sizeof(long))

struct scope {
	enum stapy_scope_kind kind;
	const struct stapy_user_file *file;
	const char *name;
	int pid;
	unsigned long *members;		/* by number of the thread group; NULL: the hierarchy, or all */
	/* Of a pattern: its files, and which of them each thread group runs, from 1 on. */
	const struct stapy_user_file **files;
	unsigned int nr_files;
	u16 *programs;
};

/* What a file makes of a process that runs it. */
struct verdict {
	u32 scopes;
	u16 programs[STAPY_SCOPES];
};

static struct scope scopes[STAPY_SCOPES];
static unsigned int nr_scopes;
static unsigned long *hierarchy;	/* the target of -c or -x and what it forked; NULL without */
static pid_t root;			/* that target */
static bool joining;			/* processes that are there are being judged */
static const struct stapy_target_events *users[STAPY_TARGET_USERS];	/* families; NULL: none */

/* --- membership --- */

static bool is_of_user(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD);
}

static bool in_hierarchy(pid_t group)
{
	return !hierarchy || test_bit(group, hierarchy);
}

static bool is_member(const struct scope *scope, pid_t group)
{
	if (scope->programs)
		return READ_ONCE(scope->programs[group]);
	return scope->members ? test_bit(group, scope->members) : in_hierarchy(group);
}

const unsigned long *stapy_target_members(unsigned int scope)
{
	return scopes[scope].members ?: hierarchy;
}

u32 stapy_targets_of(const struct task_struct *task)
{
	u32 found = 0;
	unsigned int i;

	if (!is_of_user(task))
		return 0;
	for (i = 0; i < nr_scopes; i++)
		if (is_member(&scopes[i], task->tgid))
			found |= BIT(i);
	return found;
}

bool stapy_target_is(unsigned int scope)
{
	return is_of_user(current) && is_member(&scopes[scope], current->tgid);
}

static void set_member(unsigned long *members, pid_t group, bool member)
{
	if (!members)
		return;
	if (member)
		set_bit(group, members);
	else
		clear_bit(group, members);
}

bool stapy_target_has(unsigned int number, struct mm_struct *mm)
{
	const struct scope *scope = &scopes[number];
	pid_t group = stapy_mm_group(mm);
	struct file *file;
	bool is;

	if (!group)
		return true;
	if (!scope->file)
		return is_member(scope, group);
	/* A program is mapped before the exec is told of: its members do not know it yet. */
	file = stapy_exe_file(mm);
	is = file && stapy_user_file_is(scope->file, file) && in_hierarchy(group);
	if (file)
		fput(file);
	return is;
}

static u16 number_of(const struct scope *scope, struct file *file)
{
	unsigned int i;

	for (i = 0; i < scope->nr_files; i++) {
		const struct stapy_user_file *one = READ_ONCE(scope->files[i]);

		if (one && stapy_user_file_is(one, file))
			return i + 1;
	}
	return 0;
}

/* What is meant by a file, whose reference is given back; NULL is none. */
static struct verdict judge(struct file *file)
{
	struct verdict found = {};
	unsigned int i;

	if (!file)
		return found;
	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].programs)
			found.programs[i] = number_of(&scopes[i], file);
		else if (scopes[i].file && stapy_user_file_is(scopes[i].file, file))
			found.scopes |= BIT(i);
	fput(file);
	return found;
}

static void set_files(pid_t group, struct verdict found)
{
	bool meant = in_hierarchy(group);
	unsigned int i;

	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].programs)
			WRITE_ONCE(scopes[i].programs[group], meant ? found.programs[i] : 0);
		else if (scopes[i].file)
			set_member(scopes[i].members, group, (found.scopes & BIT(i)) && meant);
}

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
	if (hierarchy && descends_from(parent, root))
		set_bit(child->tgid, hierarchy);
	if (child->mm)
		set_files(child->tgid, judge(stapy_exe_file(child->mm)));
}

static void STAPY_CALLBACK on_fork(void *unused, struct task_struct *parent,
				   struct task_struct *child)
{
	const struct stapy_target_events *events;
	/* What a kernel thread starts, such as a user mode helper, is nobody's child. */
	bool heir = is_of_user(child) && is_of_user(parent);
	unsigned int i;

	if (child->tgid != parent->tgid) {
		set_member(hierarchy, child->tgid, heir && in_hierarchy(parent->tgid));
		for (i = 0; i < nr_scopes; i++)
			if (scopes[i].programs)
				WRITE_ONCE(scopes[i].programs[child->tgid],
					   heir ? READ_ONCE(scopes[i].programs[parent->tgid]) : 0);
			else
				set_member(scopes[i].members, child->tgid,
					   heir && scopes[i].file && is_member(&scopes[i], parent->tgid));
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
	set_files(task->tgid, judge(stapy_exe_file(task->mm)));
	FOR_EACH_USER(i, events)
		if (events->exec)
			events->exec(before, stapy_targets_of(task));
}

static void STAPY_CALLBACK on_exit(void *unused, struct task_struct *task)
{
	const struct stapy_target_events *events;
	unsigned int i;

	if (!is_of_user(task))
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
			if (!is_of_user(thread) || (!threads && thread != leader))
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

/* The file that a process runs, with a reference: any thread knows, and the leader may have ended. */
static struct file *file_of(struct task_struct *leader)
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

/*
 * A process may exec meanwhile: its own callback then sets the bits by the new file, and
 * here they are set again until the file stays the same.
 */
static void take_in(struct task_struct *leader)
{
	struct verdict found = judge(file_of(leader)), before;
	unsigned int turns = 0;

	do {
		before = found;
		set_files(leader->tgid, found);
		found = judge(file_of(leader));
	} while (memcmp(&found, &before, sizeof(found)) && turns++ < 8);
}

static int take_in_all(void)
{
	unsigned int i, n;
	struct task_struct **leaders = stapy_tasks_take(false, &n);

	if (!leaders)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (hierarchy && descends_from(leaders[i], root))
			set_bit(leaders[i]->tgid, hierarchy);
		take_in(leaders[i]);
		cond_resched();
	}
	stapy_tasks_release(leaders, n);
	return 0;
}

/* --- life --- */

int stapy_target_scope(enum stapy_scope_kind kind, const char *file, int pid)
{
	struct scope *scope;
	unsigned int i;

	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].kind == kind && scopes[i].pid == pid &&
		    !strcmp(scopes[i].name ?: "", file ?: ""))
			return i;
	if (nr_scopes == STAPY_SCOPES)
		return -E2BIG;
	scope = &scopes[nr_scopes];
	*scope = (struct scope){ .kind = kind, .name = file, .pid = pid };
	if (kind == STAPY_SCOPE_FILE) {
		scope->file = stapy_user_file_find(file);
		if (!scope->file)
			return -ENOENT;
	}
	if (kind != STAPY_SCOPE_ALL) {
		scope->members = stapy_alloc(1, MEMBER_BYTES);
		if (!scope->members)
			return -ENOMEM;
	}
	if (kind == STAPY_SCOPE_PID) {
		pid_t group = 0;
		struct task_struct *task;

		/* Of the consumer's namespace, in whose system call this runs. */
		rcu_read_lock();
		task = pid_task(find_vpid(pid), PIDTYPE_PID);
		if (task && is_of_user(task))
			group = task->tgid;
		rcu_read_unlock();
		if (!group) {
			kvfree(scope->members);
			scope->members = NULL;
			return -ESRCH;
		}
		set_bit(group, scope->members);
	}
	/* Another family may be following processes already: they see a whole one. */
	smp_wmb();
	return nr_scopes++;
}

int stapy_target_pattern(const char *pattern, unsigned int count)
{
	struct scope *scope;
	unsigned int i;

	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].programs && scopes[i].nr_files == count && !strcmp(scopes[i].name, pattern))
			return i;
	if (nr_scopes == STAPY_SCOPES || count > U16_MAX)
		return -E2BIG;
	scope = &scopes[nr_scopes];
	*scope = (struct scope){
		.kind = STAPY_SCOPE_PATTERN, .name = pattern, .nr_files = count,
	};
	scope->files = stapy_alloc(count, sizeof(*scope->files));
	scope->programs = stapy_alloc(PID_MAX_LIMIT, sizeof(*scope->programs));
	if (!scope->files || !scope->programs) {
		kvfree(scope->files);
		kvfree(scope->programs);
		*scope = (struct scope){};
		return -ENOMEM;
	}
	/* As above. */
	smp_wmb();
	return nr_scopes++;
}

int stapy_target_add(unsigned int number, unsigned int program, const char *name)
{
	const struct stapy_user_file *file = stapy_user_file_find(name);

	if (!file)
		return -ENOENT;
	WRITE_ONCE(scopes[number].files[program - 1], file);
	return 0;
}

unsigned int stapy_target_program(unsigned int number)
{
	const struct scope *scope = &scopes[number];

	return scope->programs ? READ_ONCE(scope->programs[current->tgid]) : 0;
}

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
	while (nr_scopes) {
		kvfree(scopes[--nr_scopes].members);
		kvfree(scopes[nr_scopes].files);
		kvfree(scopes[nr_scopes].programs);
		scopes[nr_scopes] = (struct scope){};
	}
	kvfree(hierarchy);
	hierarchy = NULL;
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

	root = stapy_session.target ? target_group() : 0;
	for (i = 0; users[i]; i++)
		;
	WRITE_ONCE(users[i], events);
	if (stapy_session.target && !hierarchy) {
		hierarchy = stapy_alloc(1, MEMBER_BYTES);
		r = hierarchy ? 0 : -ENOMEM;
	}
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

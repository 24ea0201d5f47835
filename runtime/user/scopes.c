// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scopes of a session: what each means, and which thread groups are its members. A hit only
 * looks at a bit.
 */
#include <linux/file.h>
#include "../internal.h"
#include "../compat/linux/file.h"
#include "../compat/linux/uprobes.h"
#include "files.h"
#include "scopes.h"
#include "tasks.h"

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

static struct scope scopes[STAPY_SCOPES];
static unsigned int nr_scopes;
static unsigned long *hierarchy;	/* the target of -c or -x and what it forked; NULL without */

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

	if (!stapy_is_of_user(task))
		return 0;
	for (i = 0; i < nr_scopes; i++)
		if (is_member(&scopes[i], task->tgid))
			found |= BIT(i);
	return found;
}

bool stapy_target_is(unsigned int scope)
{
	return stapy_is_of_user(current) && is_member(&scopes[scope], current->tgid);
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

struct stapy_verdict stapy_scopes_judge(struct file *file)
{
	struct stapy_verdict found = {};
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

void stapy_scopes_set(pid_t group, struct stapy_verdict found)
{
	bool meant = in_hierarchy(group);
	unsigned int i;

	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].programs)
			WRITE_ONCE(scopes[i].programs[group], meant ? found.programs[i] : 0);
		else if (scopes[i].file)
			set_member(scopes[i].members, group, (found.scopes & BIT(i)) && meant);
}

void stapy_scopes_inherit(pid_t child, pid_t parent, bool heir)
{
	unsigned int i;

	set_member(hierarchy, child, heir && in_hierarchy(parent));
	for (i = 0; i < nr_scopes; i++)
		if (scopes[i].programs)
			WRITE_ONCE(scopes[i].programs[child],
				   heir ? READ_ONCE(scopes[i].programs[parent]) : 0);
		else
			set_member(scopes[i].members, child,
				   heir && scopes[i].file && is_member(&scopes[i], parent));
}

int stapy_hierarchy_make(void)
{
	if (!hierarchy)
		hierarchy = stapy_alloc(1, MEMBER_BYTES);
	return hierarchy ? 0 : -ENOMEM;
}

bool stapy_hierarchy_exists(void)
{
	return hierarchy;
}

void stapy_hierarchy_add(pid_t group)
{
	set_member(hierarchy, group, true);
}

/* --- scopes --- */

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
		if (task && stapy_is_of_user(task))
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

void stapy_scopes_free(void)
{
	while (nr_scopes) {
		kvfree(scopes[--nr_scopes].members);
		kvfree(scopes[nr_scopes].files);
		kvfree(scopes[nr_scopes].programs);
		scopes[nr_scopes] = (struct scope){};
	}
	kvfree(hierarchy);
	hierarchy = NULL;
}

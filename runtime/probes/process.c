// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * process.*: the family, and system calls. Which rows an event is a hit of is in process_rows.c, the
 * lives of processes are in process_lives.c.
 */
#include <asm/syscall.h>
#include "../hit.h"
#include "../compat/linux/tracepoint.h"
#include "../transport/control.h"
#include "../user/files.h"
#include "../user/targets.h"
#include "process_lives.h"
#include "process_rows.h"

static struct call {
	const char *name;
	enum stapy_process_event event;
	void *callback, *plain;
	struct tracepoint *tp;
	bool armed;
	const unsigned long *members;	/* of the one scope that rows mean, by group; or NULL */
	struct stapy_process_row *only;	/* the one row, with members; or NULL */
} calls[2];

/* --- system calls --- */

/* Of the rows of system calls, only the scope of each is asked. */
static noinline u32 scopes_of_any(enum stapy_process_event event)
{
	u32 left = stapy_process_watched[event], found = 0;

	while (left) {
		unsigned int scope = __ffs(left);

		left &= left - 1;
		if (stapy_target_is(scope))
			found |= BIT(scope);
	}
	return found;
}

/*
 * Most calls of a machine are those of processes that nobody means: one bit tells, and nothing is
 * saved for what follows. The kernel's own threads have no bits before they run a program.
 */
static __always_inline bool is_meant(const struct call *call)
{
	return !call->members || unlikely(test_bit(current->tgid, call->members));
}

static __always_inline u32 scopes_of_call(const struct call *call)
{
	return call->members ? stapy_process_watched[call->event] : scopes_of_any(call->event);
}

static noinline void STAPY_CALLBACK call_begins(struct pt_regs *regs, long number)
{
	u32 scopes = scopes_of_call(&calls[0]);
	unsigned long args[7] STAPY_UNSET;

	if (!scopes)
		return;
	stapy_process_tell_begins();
	args[0] = number;
	syscall_get_arguments(current, regs, args + 1);
	stapy_process_fire(STAPY_PROCESS_SYSCALL, scopes, args);
}

static noinline void STAPY_CALLBACK call_returns(struct pt_regs *regs, long result)
{
	u32 scopes = scopes_of_call(&calls[1]);
	unsigned long args[2] STAPY_UNSET;

	if (!scopes)
		return;
	/* A child comes from its fork before it runs its errand. */
	stapy_process_tell_begins();
	args[0] = syscall_get_nr(current, regs);
	args[1] = result;
	stapy_process_fire(STAPY_PROCESS_SYSCALL_RETURN, scopes, args);
}

/*
 * Most scripts have one row for a scope: when its bit is set there is nothing else to be asked, and
 * nothing to be brought for a handler that looks at no argument. Only what is rare goes the long way.
 */
static __always_inline bool fire_plain(const struct call *call, struct pt_regs *regs,
				       const unsigned long *args)
{
	struct stapy_process_row *row = call->only;
	struct stapy_context *c;

	if (unlikely(stapy_may_be_off(row->site.probe) ||
		     !stapy_hit_begin(&c, &row->site, NULL, 0)))
		return false;
	c->args = args;
	c->user_regs = regs;
	stapy_hit_run(c, row->site.probe->handler);
	c->user_regs = NULL;
	stapy_hit_leave(c);
	return true;
}

static noinline void STAPY_CALLBACK plain_call(struct pt_regs *regs, long number)
{
	const struct call *call = &calls[0];
	unsigned long args[7] STAPY_UNSET;

	if (call->only->reads_args) {
		args[0] = number;
		syscall_get_arguments(current, regs, args + 1);
	}
	if (!fire_plain(call, regs, args))
		call_begins(regs, number);
}

static noinline void STAPY_CALLBACK plain_return(struct pt_regs *regs, long result)
{
	const struct call *call = &calls[1];
	unsigned long args[2] STAPY_UNSET;

	args[0] = syscall_get_nr(current, regs);
	args[1] = result;
	if (!fire_plain(call, regs, args))
		call_returns(regs, result);
}

static void STAPY_CALLBACK on_plain_call(void *unused, struct pt_regs *regs, long number)
{
	if (unlikely(test_bit(current->tgid, calls[0].members)))
		plain_call(regs, number);
}

static void STAPY_CALLBACK on_plain_return(void *unused, struct pt_regs *regs, long result)
{
	if (unlikely(test_bit(current->tgid, calls[1].members)))
		plain_return(regs, result);
}

static void STAPY_CALLBACK on_call(void *unused, struct pt_regs *regs, long number)
{
	if (is_meant(&calls[0]))
		call_begins(regs, number);
}

static void STAPY_CALLBACK on_return(void *unused, struct pt_regs *regs, long result)
{
	if (is_meant(&calls[1]))
		call_returns(regs, result);
}

/* --- the family --- */

static void find_call(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(tp->name, calls[i].name))
			calls[i].tp = tp;
}

/* Where nobody is told of beginnings first, and all that may be looked at is the user's. */
static bool is_plain(void)
{
	return !stapy_process_watched[STAPY_PROCESS_BEGIN] &&
	       !stapy_process_watched[STAPY_THREAD_BEGIN] && !stapy_session.limits.unprivileged;
}

static int arm_call(unsigned int i)
{
	int r;

	if (!calls[i].tp)
		return -ENOENT;
	calls[i].members = stapy_process_members(calls[i].event);
	if (calls[i].members && is_plain()) {
		calls[i].only = stapy_process_only(calls[i].event);
		calls[i].callback = calls[i].only ? calls[i].plain : calls[i].callback;
	}
	r = tracepoint_probe_register(calls[i].tp, calls[i].callback, NULL);
	calls[i].armed = !r;
	return r;
}

static void stop(void *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].armed)
			tracepoint_probe_unregister(calls[i].tp, calls[i].callback, NULL);
		calls[i].armed = false;
	}
	stapy_process_lives_stop();
	stapy_user_files_release();
}

static int start(void *rows, unsigned int count)
{
	unsigned int i;
	int r;

	if (!STAPY_TRACEPOINTS) {
		stapy_control("error", "process probes need tracepoints, which cannot be probed on this kernel: it was built to check the types of calls (kCFI)");
		return -EOPNOTSUPP;
	}
	stapy_user_files_keep();
	calls[0] = (struct call){ "sys_enter", STAPY_PROCESS_SYSCALL, on_call, on_plain_call };
	calls[1] = (struct call){
		"sys_exit", STAPY_PROCESS_SYSCALL_RETURN, on_return, on_plain_return
	};
	r = stapy_process_rows_start(rows, count);
	r = r ?: stapy_process_lives_start();
	for_each_kernel_tracepoint(find_call, NULL);
	for (i = 0; !r && i < ARRAY_SIZE(calls); i++)
		if (stapy_process_watched[calls[i].event])
			r = arm_call(i);
	if (r)
		stop(rows, count);
	return r;
}

static void run(void *rows, unsigned int count)
{
	stapy_process_lives_run();
}

static u64 missed(void *rows, unsigned int count)
{
	return stapy_process_lives_missed();
}

static int open_file(void *rows, unsigned int count, int fd, const char *name)
{
	return stapy_user_file_add(fd, name, false);
}

static void release(void *rows, unsigned int count)
{
	stapy_user_files_release();
	stapy_process_lives_free();
}

const struct stapy_family stapy_process = {
	.name = "process",
	.start = start,
	.run = run,
	.stop = stop,
	.missed = missed,
	.file = open_file,
	.release = release,
};

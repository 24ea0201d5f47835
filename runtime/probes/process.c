// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * process.*: exec and exit are seen by the process itself. A child is seen by its parent, and
 * a process that was there before by us: those two are asked to run their begin probes
 * themselves, before they go on in user mode.
 */
#include <linux/task_work.h>
#include <linux/static_call.h>
#include <asm/syscall.h>
#include "../hit.h"
#include "../compat/linux/tracepoint.h"
#include "../compat/linux/task_work.h"
#include "../transport/control.h"
#include "../user/files.h"
#include "../user/targets.h"

#define ERRANDS 1024			/* begin probes on their way at a time */
#define ALL_PROCESSES (BITS_TO_LONGS(PID_MAX_LIMIT) * sizeof(long))

/* A task that is asked to run begin probes. */
struct errand {
	struct callback_head work;
	struct task_struct *task;
	enum stapy_process_event event;
	u32 scopes;
};

static struct stapy_process_row *all_rows;
static unsigned int nr_rows;
static u32 watched[STAPY_PROCESS_EVENTS];	/* scopes that rows of an event have */

static struct errand *errands;
static DECLARE_BITMAP(errands_taken, ERRANDS);
static atomic_long_t errands_missed;
static bool errands_ran;
static unsigned long *begun;		/* thread groups whose begin probes ran, or will */

static struct {
	const char *name;
	void *callback;
	struct tracepoint *tp;
	bool armed;
} calls[2];

/* --- hits --- */

static void hit(struct stapy_process_row *row, const unsigned long *args)
{
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	/* Unprivileged users see their own processes only. */
	if (unlikely(stapy_session.limits.unprivileged) && !stapy_is_myproc())
		return;
	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return;
	c->args = args;
	c->user_regs = task_pt_regs(current);
	stapy_hit_run(c, probe->handler);
	stapy_hit_leave(c);
}

static void fire(enum stapy_process_event event, u32 scopes, const unsigned long *args)
{
	unsigned int i;

	if (!(watched[event] & scopes) || stapy_is_hidden())
		return;
	for (i = 0; i < nr_rows; i++) {
		struct stapy_process_row *row = &all_rows[i];

		if (row->event == event && row->scope >= 0 && (scopes & BIT(row->scope)))
			hit(row, args);
	}
}

/* Of the rows of system calls, only the scope of each is asked. */
static u32 scopes_of_call(enum stapy_process_event event)
{
	u32 left = watched[event], found = 0;

	while (left) {
		unsigned int scope = __ffs(left);

		left &= left - 1;
		if (stapy_target_is(scope))
			found |= BIT(scope);
	}
	return found;
}

static void STAPY_CALLBACK on_call(void *unused, struct pt_regs *regs, long number)
{
	u32 scopes = scopes_of_call(STAPY_PROCESS_SYSCALL);
	unsigned long args[7];

	if (!scopes)
		return;
	args[0] = number;
	syscall_get_arguments(current, regs, args + 1);
	fire(STAPY_PROCESS_SYSCALL, scopes, args);
}

static void STAPY_CALLBACK on_return(void *unused, struct pt_regs *regs, long result)
{
	u32 scopes = scopes_of_call(STAPY_PROCESS_SYSCALL_RETURN);
	unsigned long args[2];

	if (!scopes)
		return;
	args[0] = syscall_get_nr(current, regs);
	args[1] = result;
	fire(STAPY_PROCESS_SYSCALL_RETURN, scopes, args);
}

/* --- errands --- */

static struct errand *take_errand(void)
{
	unsigned int i;

	for (i = find_first_zero_bit(errands_taken, ERRANDS); i < ERRANDS;
	     i = find_next_zero_bit(errands_taken, ERRANDS, i))
		if (!test_and_set_bit(i, errands_taken))
			return &errands[i];
	return NULL;
}

static void give_back(struct errand *errand)
{
	put_task_struct(errand->task);
	smp_mb__before_atomic();
	clear_bit(errand - errands, errands_taken);
}

/* In the task itself, on its way to user mode, or to its end. */
static void run_errand(struct callback_head *work)
{
	struct errand *errand = container_of(work, struct errand, work);

	WRITE_ONCE(errands_ran, true);
	fire(errand->event, errand->scopes, NULL);
	give_back(errand);
}

static bool send(struct task_struct *task, enum stapy_process_event event, u32 scopes,
		 enum task_work_notify_mode notify)
{
	struct errand *errand = take_errand();

	if (!errand)
		return false;
	errand->task = get_task_struct(task);
	errand->event = event;
	errand->scopes = scopes;
	init_task_work(&errand->work, run_errand);
	/* One that ends has nothing to begin. */
	if (task_work_add(task, &errand->work, notify))
		give_back(errand);
	return true;
}

static bool is_errand(struct callback_head *work, void *wanted)
{
	return work == wanted;
}

/* A stopped process would not run its errand before it goes on: it is taken away from it. */
static void call_back(void)
{
	unsigned int i;

	for_each_set_bit(i, errands_taken, ERRANDS)
		if (stapy_task_work_cancel(errands[i].task, is_errand, &errands[i].work))
			give_back(&errands[i]);
	/* The others are being run. */
	while (!bitmap_empty(errands_taken, ERRANDS))
		schedule_timeout_uninterruptible(1);
	/* Nobody is between the end of one and the end of our code. */
	if (errands_ran)
		stapy_synchronize_tasks();
}

/* --- lives --- */

static void program_changed(u32 before, u32 now)
{
	if (stapy_state() != STAPY_RUNNING)
		return;
	fire(STAPY_PROCESS_END, before, NULL);
	if (begun)
		set_bit(current->tgid, begun);
	fire(STAPY_PROCESS_BEGIN, now, NULL);
}

static void task_began(struct task_struct *child, u32 scopes)
{
	enum stapy_process_event event = thread_group_leader(child) ? STAPY_PROCESS_BEGIN :
								      STAPY_THREAD_BEGIN;

	/* Those that come earlier are found when the session runs. */
	if (!(watched[event] & scopes) || stapy_state() != STAPY_RUNNING)
		return;
	if (event == STAPY_PROCESS_BEGIN)
		set_bit(child->tgid, begun);
	if (!send(child, event, scopes, TWA_RESUME))
		atomic_long_inc(&errands_missed);
}

static void task_ended(struct task_struct *task, u32 scopes)
{
	bool leader = thread_group_leader(task);

	/* A thread that execs ends its leader, and goes on in its place. */
	if (!leader || !task->signal->group_exec_task)
		fire(leader ? STAPY_PROCESS_END : STAPY_THREAD_END, scopes, NULL);
	if (begun && !atomic_read(&task->signal->live))
		clear_bit(task->tgid, begun);
}

static const struct stapy_target_events events = {
	.exec = program_changed,
	.fork = task_began,
	.exit = task_ended,
};

/* The next process behind a number, with a reference; NULL at the end. */
static struct task_struct *next_process(pid_t *number)
{
	struct task_struct *task = NULL, *leader;

	rcu_read_lock();
	for_each_process(leader)
		if (leader->pid > *number && (!task || leader->pid < task->pid))
			task = leader;
	if (task) {
		*number = task->pid;
		get_task_struct(task);
	}
	rcu_read_unlock();
	return task;
}

/* Processes that were there before: those asleep are woken for it. */
static void run(void *rows, unsigned int count)
{
	struct task_struct *task;
	unsigned int tries;
	pid_t number = 0;

	if (!begun)
		return;
	while (stapy_state() == STAPY_RUNNING && (task = next_process(&number))) {
		u32 scopes = stapy_targets_of(task) & watched[STAPY_PROCESS_BEGIN];

		if (scopes && !test_and_set_bit(task->tgid, begun)) {
			for (tries = 0; tries < 100; tries++) {
				if (send(task, STAPY_PROCESS_BEGIN, scopes, TWA_SIGNAL))
					break;
				schedule_timeout_uninterruptible(1);
			}
			if (tries == 100)
				atomic_long_inc(&errands_missed);
		}
		put_task_struct(task);
		cond_resched();
	}
}

/* --- the family --- */

static void find_call(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(tp->name, calls[i].name))
			calls[i].tp = tp;
}

static int arm_call(unsigned int i)
{
	int r;

	if (!calls[i].tp)
		return -ENOENT;
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
	stapy_targets_stop(&events);
	if (errands)
		call_back();
	kvfree(errands);
	errands = NULL;
	kvfree(begun);
	begun = NULL;
	stapy_user_files_release();
}

static int find_scopes(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_process_row *row = &all_rows[i];
		enum stapy_scope_kind kind = row->file ? STAPY_SCOPE_FILE :
					     row->pid ? STAPY_SCOPE_PID : STAPY_SCOPE_ALL;

		row->scope = stapy_target_scope(kind, row->file, row->pid);
		if (row->scope >= 0)
			watched[row->event] |= BIT(row->scope);
		else if (row->scope == -ENOMEM)
			return -ENOMEM;
		else if (!row->optional)
			stapy_warn("probe %s registration error (rc %d)", row->site.point, row->scope);
	}
	return 0;
}

static int start(void *rows, unsigned int count)
{
	int r;

	if (!STAPY_TRACEPOINTS) {
		stapy_control("error", "process probes need tracepoints, which cannot be probed on this kernel: it was built to check the types of calls (kCFI)");
		return -EOPNOTSUPP;
	}
	stapy_user_files_keep();
	all_rows = rows;
	nr_rows = count;
	calls[0].name = "sys_enter";
	calls[0].callback = on_call;
	calls[1].name = "sys_exit";
	calls[1].callback = on_return;
	r = find_scopes();
	if (!r && (watched[STAPY_PROCESS_BEGIN] | watched[STAPY_THREAD_BEGIN])) {
		const char *missing = stapy_task_work_prepare();

		if (missing) {
			stapy_control("error", "begin probes of processes need %s, which this kernel does not have", missing);
			r = -EOPNOTSUPP;
		}
		errands = stapy_alloc(ERRANDS, sizeof(*errands));
		begun = stapy_alloc(1, ALL_PROCESSES);
		if (!errands || !begun)
			r = r ?: -ENOMEM;
	}
	r = r ?: stapy_targets_start(&events);
	for_each_kernel_tracepoint(find_call, NULL);
	if (!r && watched[STAPY_PROCESS_SYSCALL])
		r = arm_call(0);
	if (!r && watched[STAPY_PROCESS_SYSCALL_RETURN])
		r = arm_call(1);
	if (r)
		stop(rows, count);
	return r;
}

static u64 missed(void *rows, unsigned int count)
{
	return atomic_long_read(&errands_missed);
}

static int open_file(int fd, const char *name)
{
	return stapy_user_file_add(fd, name);
}

static void release(void *rows, unsigned int count)
{
	stapy_user_files_release();
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

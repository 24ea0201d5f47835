// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Begins and ends of processes and threads: exec and exit are seen by the process itself. A child
 * is seen by its parent, and a process that was there before by us: those two are asked to run
 * their begin probes themselves, before they go on in user mode.
 *
 * What is still to be told of whom are bits: whoever clears one tells it, in the process itself.
 * So nothing is told twice, no end comes before the begin, and no begin behind the end.
 */
#include "../internal.h"
#include "../user/errands.h"
#include "../user/targets.h"
#include "../user/tasks.h"
#include "process_lives.h"
#include "process_rows.h"

#define FORKS 1024			/* children on their way to their begin probes at a time */
#define ALL_PROCESSES (BITS_TO_LONGS(PID_MAX_LIMIT) * sizeof(long))

static atomic_long_t errands_missed;

/* By number of the thread group, or of the thread; NULL where no row asks. */
static unsigned long *untold;		/* groups whose begin is to be told */
static unsigned long *untold_threads;	/* other threads whose begin is */
static unsigned long *alive;		/* groups whose end is to be told */
static unsigned long *leaderless;	/* groups whose leader has left before the others */

/* --- what is to be told --- */

static bool take(unsigned long *bits, pid_t number)
{
	return bits && test_bit(number, bits) && test_and_clear_bit(number, bits);
}

static void put(unsigned long *bits, pid_t number, bool value)
{
	if (!bits)
		return;
	if (value)
		set_bit(number, bits);
	else
		clear_bit(number, bits);
}

/* Threads of the kernel's that belong to a process, but never are in user mode. */
static bool is_worker(const struct task_struct *task)
{
	unsigned int workers = PF_KTHREAD | PF_IO_WORKER;

#ifdef PF_USER_WORKER
	workers |= PF_USER_WORKER;
#endif
	return task->flags & workers;
}

void stapy_process_tell_untold(void)
{
	if (stapy_state() != STAPY_RUNNING)
		return;
	if (take(untold, current->tgid))
		stapy_process_fire(STAPY_PROCESS_BEGIN, stapy_targets_of(current), NULL);
	if (!thread_group_leader(current) && take(untold_threads, current->pid))
		stapy_process_fire(STAPY_THREAD_BEGIN, stapy_targets_of(current), NULL);
}

/* What never began by a script's probes does not end by them. */
static u32 ends_of(u32 scopes, enum stapy_process_event begin, bool never_began)
{
	return never_began ? scopes & ~stapy_process_watched[begin] : scopes;
}

/* --- errands --- */

/* Who was killed before has told its end, and has no memory any more. */
static void run_errand(void)
{
	if (current->flags & PF_EXITING)
		return;
	rcu_read_lock();
	stapy_process_tell_begins();
	rcu_read_unlock();
}

static struct stapy_errands errands = { .run = run_errand };

/* --- lives --- */

static void program_left(u32 before)
{
	pid_t group = current->tgid;

	if (stapy_state() != STAPY_RUNNING)
		return;
	before = ends_of(before, STAPY_PROCESS_BEGIN, take(untold, group));
	if (take(alive, group))
		stapy_process_fire(STAPY_PROCESS_END, before, NULL);
}

static void program_changed(u32 before, u32 now)
{
	pid_t group = current->tgid;

	put(alive, group, true);
	put(leaderless, group, false);
	/* One that comes earlier is told when the session runs, which may be since a moment ago. */
	if (stapy_state() != STAPY_RUNNING)
		return;
	take(untold, group);
	stapy_process_fire(STAPY_PROCESS_BEGIN, now, NULL);
}

static void task_began(struct task_struct *child, u32 scopes)
{
	bool leader = thread_group_leader(child);
	enum stapy_process_event event = leader ? STAPY_PROCESS_BEGIN : STAPY_THREAD_BEGIN;
	unsigned long *bits = leader ? untold : untold_threads;
	/* A user mode helper is no process of anybody's before its exec: it has no code to go to. */
	bool lives = !is_worker(child) && instruction_pointer(task_pt_regs(child));
	struct stapy_errand *errand;

	put(bits, child->pid, lives);
	if (leader) {
		put(alive, child->pid, lives);
		put(leaderless, child->pid, false);
	}
	/* Who comes before the session runs is found then: that looks at the bits behind the state. */
	smp_mb();
	if (!lives || !(stapy_process_watched[event] & scopes) || stapy_state() != STAPY_RUNNING)
		return;
	if (unlikely(stapy_session.limits.unprivileged) && !stapy_is_myproc())
		return;
	errand = stapy_errand_any(&errands);
	if (errand)
		stapy_errand_send(errand, child, TWA_RESUME);
	else if (take(bits, child->pid))
		atomic_long_inc(&errands_missed);
}

/*
 * The end of a process is its leader's, which may have left before the others: then it is that
 * of the first who sees that all are leaving. A thread that execs ends its leader in that way.
 */
static void task_ended(struct task_struct *task, u32 scopes)
{
	bool leader = thread_group_leader(task);
	pid_t group = task->tgid;

	if (leader)
		put(leaderless, group, true);
	else if (!is_worker(task))
		stapy_process_fire(STAPY_THREAD_END, ends_of(scopes, STAPY_THREAD_BEGIN, take(untold_threads, task->pid)),
		     NULL);
	/* A leader that sees others alive has left its mark before they look. */
	smp_mb();
	if (!alive || atomic_read(&task->signal->live))
		return;
	if ((leader || test_bit(group, leaderless)) && take(alive, group))
		stapy_process_fire(STAPY_PROCESS_END, ends_of(scopes, STAPY_PROCESS_BEGIN, take(untold, group)), NULL);
}

static const struct stapy_target_events events = {
	.leave = program_left,
	.exec = program_changed,
	.fork = task_began,
	.exit = task_ended,
};

/* Any thread runs the errand of a process whose leader has left. */
static void ask_group(struct task_struct *leader, struct stapy_errand *errand)
{
	struct task_struct *thread;

	rcu_read_lock();
	for_each_thread(leader, thread)
		if (!(thread->flags & PF_EXITING) && !is_worker(thread) &&
		    stapy_errand_take(&errands, errand) &&
		    stapy_errand_send(errand, thread, TWA_SIGNAL))
			break;
	rcu_read_unlock();
}

static void ask(struct task_struct *task, struct stapy_errand *errand)
{
	bool leader = thread_group_leader(task);
	enum stapy_process_event event = leader ? STAPY_PROCESS_BEGIN : STAPY_THREAD_BEGIN;

	if (!(stapy_process_watched[event] & stapy_targets_of(task)))
		return;
	/* Nobody's system calls are interrupted but those of who runs the session. */
	if (unlikely(stapy_session.limits.unprivileged) && !stapy_owns(task))
		return;
	if (leader) {
		if (test_bit(task->pid, untold))
			ask_group(task, errand);
	} else if (!is_worker(task) && test_bit(task->pid, untold_threads) &&
		   stapy_errand_take(&errands, errand)) {
		stapy_errand_send(errand, task, TWA_SIGNAL);
	}
}

void stapy_process_lives_run(void)
{
	struct task_struct **tasks;
	unsigned int i, n;

	if (!untold && !untold_threads)
		return;
	tasks = stapy_tasks_take(untold_threads, &n);
	if (!tasks || stapy_errands_pool(&errands, STAPY_ERRANDS_ONCE, n))
		stapy_warn("no memory for the begin probes of processes that are there already");
	for (i = 0; i < errands.pools[STAPY_ERRANDS_ONCE].count; i++) {
		if (stapy_state() != STAPY_RUNNING || fatal_signal_pending(current))
			break;
		ask(tasks[i], &errands.pools[STAPY_ERRANDS_ONCE].places[i]);
		cond_resched();
	}
	if (tasks)
		stapy_tasks_release(tasks, n);
}

/* --- start and end --- */

static void free_bits(void)
{
	unsigned long **bits[] = { &untold, &untold_threads, &alive, &leaderless };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		kvfree(*bits[i]);
		*bits[i] = NULL;
	}
}

/* Whoever is there before us is taken for alive, its begin for untold. */
static int make_bits(unsigned long **bits, bool wanted)
{
	if (!wanted)
		return 0;
	*bits = stapy_alloc(1, ALL_PROCESSES);
	if (!*bits)
		return -ENOMEM;
	bitmap_fill(*bits, PID_MAX_LIMIT);
	return 0;
}

static int make_all_bits(void)
{
	int r = make_bits(&untold, stapy_process_watched[STAPY_PROCESS_BEGIN]);

	r = r ?: make_bits(&untold_threads, stapy_process_watched[STAPY_THREAD_BEGIN]);
	r = r ?: make_bits(&alive, stapy_process_watched[STAPY_PROCESS_END]);
	r = r ?: make_bits(&leaderless, stapy_process_watched[STAPY_PROCESS_END]);
	if (leaderless)
		bitmap_zero(leaderless, PID_MAX_LIMIT);
	return r;
}

/* Leaders that left before we looked; one that is leaving may mark itself once more. */
static void find_leaderless(void)
{
	struct task_struct *leader;

	if (!leaderless)
		return;
	rcu_read_lock();
	for_each_process(leader)
		if (leader->flags & PF_EXITING)
			set_bit(leader->pid, leaderless);
	rcu_read_unlock();
}

void stapy_process_lives_stop(void)
{
	stapy_targets_stop(&events);
	stapy_errands_close(&errands);
	/* An errand that is run now sees the state, one that has looked at it is waited for. */
	synchronize_rcu();
	free_bits();
}

int stapy_process_lives_start(void)
{
	int r = 0;

	if (stapy_process_watched[STAPY_PROCESS_BEGIN] | stapy_process_watched[STAPY_THREAD_BEGIN]) {
		r = stapy_errands_open(&errands);
		r = r ?: stapy_errands_pool(&errands, STAPY_ERRANDS_AGAIN, FORKS);
	}
	r = r ?: make_all_bits();
	r = r ?: stapy_targets_start(&events);
	if (!r)
		find_leaderless();
	return r;
}

void stapy_process_lives_free(void)
{
	stapy_errands_free(&errands);
}

u64 stapy_process_lives_missed(void)
{
	return atomic_long_read(&errands_missed);
}

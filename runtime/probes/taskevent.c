// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug registers and counters of processes. A thread gets its events before it runs the program that
 * is meant; the kernel hands them on to each thread and child that it makes, and takes them away at
 * an exec and at the end. What is ours is to begin: with threads that are there at the start, and
 * after an exec, when the process does it itself, on its way to the program's first instruction.
 */
#include <linux/hashtable.h>
#include <linux/workqueue.h>

#include "event.h"
#include "../transport/control.h"
#include "../user/errands.h"
#include "../user/files.h"
#include "../user/image.h"
#include "../user/targets.h"
#include "../user/tasks.h"

#if !STAPY_HAVE_PERF_INHERIT_THREAD
#error "before 5.13 a counter of one process goes over to all that it starts, and to their programs"
#endif

#define EXECS 256			/* processes on their way to a new program at a time */
#define REAPED_AFTER (HZ / 10)
#define REAPED_AT_ONCE 256		/* events that one turn of the reaper looks at */
#define TURNS 16			/* of looking for threads that came meanwhile */

/* One that we have begun, with all that was handed on of it. */
struct begun {
	struct list_head list;
	struct hlist_node of_thread;
	struct task_struct *task;	/* held by the event */
	struct perf_event *event;
};

static struct stapy_taskevent_row *all_rows;
static unsigned int nr_rows;
static u32 watched;			/* scopes of rows */
static bool following;

static DEFINE_MUTEX(mutex);		/* of all below */
static LIST_HEAD(all_begun);
static DEFINE_HASHTABLE(by_thread, 10);
static unsigned int nr_begun;
static unsigned int unseen;		/* of those, in this round of the reaper */
static unsigned long round_began, last_end;	/* in jiffies; the end of a thread or its program */
static bool over;			/* nothing is begun any more */

static atomic_long_t execs_missed;

/* --- what is watched or counted --- */

static void count_only(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
}

static struct perf_event_attr describe(const struct stapy_taskevent_row *row, u64 code)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };

	if (row->length) {
		hw_breakpoint_init(&attr);
		attr.bp_addr = row->address + (row->linked && row->code ? code - row->code : 0);
		attr.bp_len = row->length;
		attr.bp_type = row->reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	} else {
		attr.type = row->type;
		attr.config = row->config;
		attr.sample_period = row->period;
		if (!row->period && !row->counter) {
			attr.freq = 1;
			attr.sample_freq = row->hz ?: HZ;
		}
	}
	attr.inherit = 1;
	attr.inherit_thread = row->pid != 0;
	attr.inherit_stat = 1;
	attr.remove_on_exec = 1;
	return attr;
}

static const char *reason(const struct stapy_taskevent_row *row, int error)
{
	if (error == -ENOSPC)
		return ": no debug register is free";
	if (error == -EINVAL && row->length)
		return ": the hardware cannot watch this address";
	if (error == -ENOENT || error == -EOPNOTSUPP)
		return ": this machine does not count such events";
	return "";
}

/* --- beginning --- */

static bool has(struct task_struct *task, const struct stapy_taskevent_row *row)
{
	bool found;

	rcu_read_lock();
	found = stapy_event_of(task, &row->site);
	rcu_read_unlock();
	return found;
}

static int begin(struct stapy_taskevent_row *row, struct task_struct *task)
{
	struct perf_event_attr attr;
	struct begun *begun;
	u64 code = 0;

	/* What has another build's addresses is not watched anywhere. */
	if (row->linked && !stapy_user_image_of(task, row->held, &code))
		return -ESRCH;
	attr = describe(row, code);
	begun = kzalloc(sizeof(*begun), GFP_KERNEL);
	if (!begun)
		return -ENOMEM;
	begun->event = perf_event_create_kernel_counter(&attr, -1, task,
							row->counter ? count_only : stapy_on_event,
							&row->site);
	if (IS_ERR(begun->event)) {
		int r = PTR_ERR(begun->event);

		kfree(begun);
		return r;
	}
	begun->task = task;
	list_add(&begun->list, &all_begun);
	hash_add(by_thread, &begun->of_thread, (unsigned long)task);
	nr_begun++;
	return 0;
}

/* True when something was begun. */
static bool begin_all(struct task_struct *task)
{
	u32 scopes = stapy_targets_of(task);
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_taskevent_row *row = &all_rows[i];
		int r;

		if (row->scope < 0 || !(scopes & BIT(row->scope)) || has(task, row))
			continue;
		r = begin(row, task);
		any |= !r;
		if (!r || r == -ESRCH || row->told)
			continue;
		row->told = true;
		stapy_warn("probe %s registration error (rc %d)%s", row->site.point, r,
			   reason(row, r));
	}
	return any;
}

/* --- ending --- */

/* A thread that has ended has its own no more, but may have handed it on. */
static bool is_done(struct perf_event *event)
{
	bool done;

	if (READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT)
		return false;
	mutex_lock(&event->child_mutex);
	done = list_empty(&event->child_list);
	mutex_unlock(&event->child_mutex);
	return done;
}

static void end(struct begun *begun)
{
	list_del(&begun->list);
	hash_del(&begun->of_thread);
	nr_begun--;
	perf_event_release_kernel(begun->event);
	kfree(begun);
}

/*
 * What a thread had before its exec holds debug registers that the new program wants. Those of
 * other threads are left to the reaper: an exec must not cost more the more threads are watched.
 */
static void end_done_of(struct task_struct *task)
{
	struct begun *begun;
	struct hlist_node *next;

	hash_for_each_possible_safe(by_thread, begun, next, of_thread, (unsigned long)task)
		if (begun->task == task && is_done(begun->event))
			end(begun);
}

/* Whatever the number of threads, a turn looks at some of them; a round is one look at each. */
static void reap(struct work_struct *work)
{
	unsigned int i;

	mutex_lock(&mutex);
	if (!unseen) {
		round_began = jiffies;
		unseen = nr_begun;
	}
	unseen = min(unseen, nr_begun);
	for (i = 0; i < REAPED_AT_ONCE && unseen; i++, unseen--) {
		struct begun *begun = list_last_entry(&all_begun, struct begun, list);

		list_move(&begun->list, &all_begun);
		if (is_done(begun->event))
			end(begun);
	}
	/* A round that began too early after an end may have looked before it was complete. */
	if (unseen)
		schedule_delayed_work(to_delayed_work(work), 1);
	else if (time_before(round_began, READ_ONCE(last_end) + REAPED_AFTER))
		schedule_delayed_work(to_delayed_work(work), REAPED_AFTER);
	mutex_unlock(&mutex);
}

static DECLARE_DELAYED_WORK(reaper, reap);

/* --- lives --- */

/* In the process itself, before its new program runs. */
static void on_errand(void)
{
	if (current->flags & PF_EXITING)
		return;
	mutex_lock(&mutex);
	if (!over) {
		end_done_of(current);
		begin_all(current);
	}
	mutex_unlock(&mutex);
}

static struct stapy_errands errands = { .run = on_errand };

static void reap_later(void)
{
	WRITE_ONCE(last_end, jiffies);
	schedule_delayed_work(&reaper, REAPED_AFTER);
}

static void program_changed(u32 before, u32 now)
{
	struct stapy_errand *errand;

	if (before & watched)
		reap_later();
	if (!(now & watched))
		return;
	errand = stapy_errand_any(&errands);
	if (errand)
		stapy_errand_send(errand, current, TWA_RESUME);
	else
		atomic_long_inc(&execs_missed);
}

static void task_ended(struct task_struct *task, u32 scopes)
{
	if (scopes & watched)
		reap_later();
}

static const struct stapy_target_events events = {
	.exec = program_changed,
	.exit = task_ended,
};

/*
 * Threads that are there. One that a thread makes before it has its events has none either: it is
 * found in the next turn, and the last one finds nobody.
 */
static int begin_with_those_there(void)
{
	unsigned int turn, i, n;
	bool any = true;

	for (turn = 0; any && turn < TURNS; turn++) {
		struct task_struct **tasks = stapy_tasks_take(true, &n);

		if (!tasks)
			return -ENOMEM;
		any = false;
		for (i = 0; i < n && !stapy_interrupted(); i++) {
			mutex_lock(&mutex);
			any |= begin_all(tasks[i]);
			mutex_unlock(&mutex);
			cond_resched();
		}
		stapy_tasks_release(tasks, n);
		if (stapy_interrupted())
			return -EINTR;
	}
	if (any)
		stapy_warn("threads are made faster than they are found: some may be without probes");
	return 0;
}

/* --- the family --- */

static int find_scopes(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_taskevent_row *row = &all_rows[i];
		enum stapy_scope_kind kind = row->pid ? STAPY_SCOPE_PID :
					     row->file ? STAPY_SCOPE_FILE : STAPY_SCOPE_ALL;

		row->scope = stapy_target_scope(kind, row->pid ? NULL : row->file, row->pid);
		if (row->file)
			row->held = stapy_user_file_find(row->file);
		if (row->linked && !row->held && row->scope >= 0)
			row->scope = -ENOENT;
		if (row->scope >= 0)
			watched |= BIT(row->scope);
		else if (row->scope == -ENOMEM)
			return -ENOMEM;
		else if (!row->optional || (row->scope != -ENOENT && row->scope != -ESRCH))
			stapy_warn("probe %s registration error (rc %d)", row->site.point, row->scope);
	}
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	struct begun *begun, *next;

	mutex_lock(&mutex);
	over = true;
	mutex_unlock(&mutex);
	if (following)
		stapy_targets_stop(&events);
	following = false;
	stapy_errands_close(&errands);
	cancel_delayed_work_sync(&reaper);
	mutex_lock(&mutex);
	list_for_each_entry_safe(begun, next, &all_begun, list)
		end(begun);
	mutex_unlock(&mutex);
	stapy_user_files_release();
}

static int start(void *rows, unsigned int count)
{
	int r;

	stapy_user_files_keep();
	all_rows = rows;
	nr_rows = count;
	r = find_scopes();
	r = r ?: stapy_errands_open(&errands);
	r = r ?: stapy_errands_pool(&errands, STAPY_ERRANDS_AGAIN, EXECS);
	if (!r) {
		r = stapy_targets_start(&events);
		following = !r;
	}
	r = r ?: begin_with_those_there();
	if (r)
		stop(rows, count);
	return r;
}

static u64 missed(void *rows, unsigned int count)
{
	return atomic_long_read(&execs_missed);
}

static int open_file(void *rows, unsigned int count, int fd, const char *name)
{
	return stapy_user_file_add(fd, name, false);
}

static void release(void *rows, unsigned int count)
{
	stapy_user_files_release();
	stapy_errands_free(&errands);
}

s64 stapy_task_counter(u32 number)
{
	struct perf_event *event = NULL;
	unsigned int i;
	s64 count;

	rcu_read_lock();
	for (i = 0; i < nr_rows && !event; i++)
		if (all_rows[i].counter == number)
			event = stapy_event_of(current, &all_rows[i].site);
	count = event ? stapy_event_count(event) : 0;
	rcu_read_unlock();
	return count;
}

const struct stapy_family stapy_taskevent = {
	.name = "taskevent",
	.start = start,
	.stop = stop,
	.missed = missed,
	.file = open_file,
	.release = release,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* Errands of tasks: sent, run, taken back. */
#include <linux/static_call.h>
#include "../internal.h"
#include "../symbols.h"
#include "../compat/linux/task_work.h"
#include "../transport/control.h"
#include "errands.h"

#define LAST_MOMENT (HZ / 10)		/* what is being run when a session ends is waited for so long */

int stapy_errands_open(struct stapy_errands *errands)
{
	const char *missing = stapy_task_work_prepare();

	if (missing) {
		stapy_control("error", "probes of processes need %s, which this kernel does not have", missing);
		return -EOPNOTSUPP;
	}
	atomic_set(&errands->outstanding, 1);
	return 0;
}

int stapy_errands_pool(struct stapy_errands *errands, enum stapy_errand_pool pool,
		       unsigned int count)
{
	struct stapy_errand *places = stapy_alloc(count, sizeof(*places));

	if (!places)
		return -ENOMEM;
	errands->pools[pool].places = places;
	errands->pools[pool].count = count;
	return 0;
}

bool stapy_errand_take(struct stapy_errands *errands, struct stapy_errand *errand)
{
	if (atomic_read(&errand->taken) || atomic_cmpxchg(&errand->taken, 0, 1))
		return false;
	errand->of = errands;
	atomic_inc(&errands->outstanding);
	return true;
}

struct stapy_errand *stapy_errand_any(struct stapy_errands *errands)
{
	unsigned int turn = atomic_inc_return(&errands->turn), i;
	unsigned int count = errands->pools[STAPY_ERRANDS_AGAIN].count;

	for (i = 0; i < count; i++) {
		struct stapy_errand *errand =
			&errands->pools[STAPY_ERRANDS_AGAIN].places[(turn + i) % count];

		if (stapy_errand_take(errands, errand))
			return errand;
	}
	return NULL;
}

/* When the session is over already, the last one lets the module go. */
static void give_back(struct stapy_errand *errand)
{
	struct stapy_errands *errands = errand->of;

	put_task_struct(errand->task);
	atomic_set_release(&errand->taken, 0);
	if (atomic_dec_and_test(&errands->outstanding))
		module_put(THIS_MODULE);
}

/* In the task itself, on its way to user mode, or to its end. */
static void run(struct callback_head *work)
{
	struct stapy_errand *errand = container_of(work, struct stapy_errand, work);

	WRITE_ONCE(errand->of->ran, true);
	errand->of->run();
	give_back(errand);
}

bool stapy_errand_send(struct stapy_errand *errand, struct task_struct *task,
		       enum task_work_notify_mode notify)
{
	errand->task = get_task_struct(task);
	init_task_work(&errand->work, run);
	if (!task_work_add(task, &errand->work, notify))
		return true;
	give_back(errand);
	return false;
}

static bool is_errand(struct callback_head *work, void *wanted)
{
	return work == wanted;
}

static void call_back(struct stapy_errand *places, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_errand *errand = &places[i];
		bool cancelled;

		/*
		 * A task that gives its errand back meanwhile is not freed before we leave here:
		 * while it ran it was not reaped yet, and then it is freed a grace period later.
		 */
		rcu_read_lock();
		cancelled = atomic_read_acquire(&errand->taken) &&
			    stapy_task_work_cancel(errand->task, is_errand, &errand->work);
		rcu_read_unlock();
		if (cancelled)
			give_back(errand);
	}
}

/*
 * A stopped process would not run its errand before it goes on: it is taken away from it. What
 * is left is being run, or waits in a task behind other work, which may be the closing of
 * control that has brought us here: that cannot be waited for, so the module is held until the
 * last errand is back. Without a hold we are in rmmod, behind which no errand waits.
 */
void stapy_errands_close(struct stapy_errands *errands)
{
	bool held;
	unsigned int tries, i;

	if (!atomic_read(&errands->outstanding))
		return;
	held = try_module_get(THIS_MODULE);
	for (i = 0; i < ARRAY_SIZE(errands->pools); i++)
		call_back(errands->pools[i].places, errands->pools[i].count);
	for (tries = 0; atomic_read(&errands->outstanding) > 1 && (!held || tries < LAST_MOMENT);
	     tries++)
		schedule_timeout_uninterruptible(1);
	if (atomic_dec_and_test(&errands->outstanding) && held)
		module_put(THIS_MODULE);
}

/* The module cannot go while an errand is out: then this is not the last time that we are called. */
void stapy_errands_free(struct stapy_errands *errands)
{
	unsigned int i;

	if (atomic_read(&errands->outstanding))
		return;
	/* Nobody is between the end of an errand and the end of our code. */
	if (errands->ran)
		stapy_synchronize_tasks();
	for (i = 0; i < ARRAY_SIZE(errands->pools); i++) {
		kvfree(errands->pools[i].places);
		errands->pools[i].places = NULL;
		errands->pools[i].count = 0;
	}
}

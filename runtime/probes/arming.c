// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arming conditions. A handler that changes a global judges the conditions that
 * read it before it lets the global go, and a hit only looks at the verdict. Here
 * probes are armed as soon as their condition is true, but disarmed only when it
 * was false all through an interval: a condition that changes all the time costs
 * its handlers a store, and loses no hits while its probes are armed and disarmed.
 */
#include "../internal.h"

#define INTERVAL (100 * NSEC_PER_MSEC)	/* without -D STP_ON_THE_FLY_INTERVAL */

static struct stapy_condition *all;
static unsigned int nr;
static unsigned long interval;		/* jiffies */
static bool open;			/* the work may be asked for */
static bool scheduled;			/* it looks again before long */
static struct irq_work kick;
static struct delayed_work work;

/* An own verdict: nobody else judges meanwhile, for what it reads is held. */
static void turn(struct stapy_condition *condition, bool off)
{
	if (off) {
		atomic_or(STAPY_OFF_FALSE, &condition->off);
	} else {
		condition->turns++;
		atomic_andnot(STAPY_OFF_FALSE, &condition->off);
	}
	/* Before we look at what the work has made of it; the work looks the other way round. */
	smp_mb__after_atomic();
	if (stapy_state() == STAPY_STARTING)
		condition->idle = off;
	else if (READ_ONCE(open) && (off ? !READ_ONCE(scheduled) : READ_ONCE(condition->idle)))
		irq_work_queue(&kick);
}

void stapy_judge(struct stapy_context *c, struct stapy_condition *condition)
{
	const char *error = c->error, *error_at = c->error_at;
	char *frame = c->frame;
	bool off = !condition->test(c);
	unsigned int i;

	/* One that fails is false, whatever the handler itself has come to. */
	c->error = error;
	c->error_at = error_at;
	c->frame = frame;
	if (off == !!(atomic_read(&condition->off) & STAPY_OFF_FALSE))
		return;
	for (i = 0; i <= condition->followers; i++)
		turn(&condition[i], off);
}

static void disarm(struct stapy_condition *condition)
{
	atomic_or(STAPY_OFF_DISARMED, &condition->off);
	smp_mb__after_atomic();
	if (READ_ONCE(open) && !READ_ONCE(scheduled))
		irq_work_queue(&kick);
}

/* Is it to be disarmed? Not what only rests: it would cost more than it saves. */
static bool is_unwanted(const struct stapy_condition *condition)
{
	return atomic_read(&condition->off) & (STAPY_OFF_FALSE | STAPY_OFF_DISARMED);
}

/* Handlers may hold any lock of the kernel, and be in an NMI. */
static void on_kick(struct irq_work *unused)
{
	mod_delayed_work(system_unbound_wq, &work, 0);
}

/* False when it was false all through the interval; an overload is over at once. */
static bool is_early(struct stapy_condition *condition)
{
	unsigned int turns = READ_ONCE(condition->turns);

	if (atomic_read(&condition->off) & STAPY_OFF_DISARMED)
		return false;
	if (condition->waiting && condition->turns_seen == turns)
		return time_before(jiffies, condition->since + interval);
	condition->waiting = true;
	condition->turns_seen = turns;
	condition->since = jiffies;
	return true;
}

/* True when the probes of a condition are to be armed or disarmed. */
static bool changes(struct stapy_condition *condition)
{
	if (!is_unwanted(condition)) {
		condition->waiting = false;
		if (!condition->idle)
			return false;
		WRITE_ONCE(condition->idle, false);
		return true;
	}
	if (condition->idle || is_early(condition))
		return false;
	condition->waiting = false;
	smp_store_mb(condition->idle, true);
	if (is_unwanted(condition))
		return true;
	WRITE_ONCE(condition->idle, false);
	return false;
}

static void rearm_families(void)
{
	const struct stapy_session *s = &stapy_session;
	unsigned int i;

	for (i = 0; i < s->nr_families; i++) {
		const struct stapy_family_rows *f = &s->families[i];

		if (f->family->rearm)
			f->family->rearm(f->rows, f->count);
	}
}

static void look(struct work_struct *unused)
{
	bool changed = false, again = false;
	unsigned int i;

	smp_store_mb(scheduled, false);
	for (i = 0; i < nr; i++) {
		changed |= changes(&all[i]);
		again |= all[i].waiting;
	}
	if (changed)
		rearm_families();
	if (again && READ_ONCE(open)) {
		WRITE_ONCE(scheduled, true);
		queue_delayed_work(system_unbound_wq, &work, interval);
	}
}

static int start(void *rows, unsigned int count)
{
	all = rows;
	nr = count;
	interval = nsecs_to_jiffies(stapy_session.limits.on_the_fly_interval ?: INTERVAL) ?: 1;
	init_irq_work(&kick, on_kick);
	INIT_DELAYED_WORK(&work, look);
	stapy_disarm = disarm;
	WRITE_ONCE(open, true);
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	WRITE_ONCE(open, false);
	/* Handlers that saw it open have asked; then the one asks the other. */
	stapy_contexts_wait();
	irq_work_sync(&kick);
	cancel_delayed_work_sync(&work);
}

static int judge_all(void *rows, unsigned int count)
{
	static struct stapy_probe nobody;
	static const struct stapy_site here = { &nobody, "arming conditions" };
	struct stapy_condition *conditions = rows;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_context *c = stapy_enter_in(&here, STAPY_STARTING);

		if (!c)
			return stapy_interrupted() ? -EINTR : -EBUSY;
		stapy_interruptible(c);
		stapy_judge(c, &conditions[i]);
		stapy_leave(c);
	}
	return 0;
}

static void nothing(void *rows, unsigned int count)
{
}

const struct stapy_family stapy_conditions = {
	.name = "conditions",
	.phases = true,
	.start = judge_all,
	.stop = nothing,
};

const struct stapy_family stapy_arming = {
	.name = "arming",
	.start = start,
	.stop = stop,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* timer.*: handlers run in the interrupt of an hrtimer, or of the timer wheel for jiffies. */
#include "../internal.h"

static void hit(struct stapy_timer_row *row)
{
	struct pt_regs *regs = get_irq_regs();
	struct stapy_context *c = stapy_enter(&row->site);

	if (!c)
		return;
	if (regs && user_mode(regs))
		c->user_regs = regs;
	else
		c->regs = regs;
	stapy_run(c);
	c->user_regs = NULL;
	stapy_leave(c);
}

/* The interval of the next hit, evenly spread around the mean. */
static u64 interval_of(struct stapy_timer_row *row)
{
	u64 spread = 2 * row->randomize + 1, interval;

	if (!row->randomize)
		return row->interval;
	interval = row->interval + stapy_random(&row->random) % spread -
		   min(row->randomize, row->interval);
	return max_t(u64, interval, 1);
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *timer)
{
	struct stapy_timer_row *row = container_of(timer, struct stapy_timer_row, hr);

	if (stapy_state() > STAPY_RUNNING)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(interval_of(row)));
	hit(row);
	return HRTIMER_RESTART;
}

static void on_wheel(struct timer_list *timer)
{
	struct stapy_timer_row *row = container_of(timer, struct stapy_timer_row, wheel);

	if (stapy_state() > STAPY_RUNNING)
		return;
	mod_timer(timer, jiffies + interval_of(row));
	hit(row);
}

/* Its time has been set; one that was off for a while is hit when it would have been without that. */
static void arm(struct stapy_timer_row *row)
{
	row->armed = true;
	if (row->in_jiffies) {
		unsigned long late = jiffies - row->wheel.expires;

		if (time_after_eq(jiffies, row->wheel.expires))
			row->wheel.expires += late - late % row->interval + row->interval;
		add_timer(&row->wheel);
	} else {
		hrtimer_forward_now(&row->hr, ns_to_ktime(row->interval));
		hrtimer_start_expires(&row->hr, HRTIMER_MODE_ABS_HARD);
	}
}

static void disarm(struct stapy_timer_row *row)
{
	row->armed = false;
	if (row->in_jiffies)
		stapy_timer_cancel(&row->wheel);
	else
		hrtimer_cancel(&row->hr);
}

static void rearm(void *table, unsigned int count)
{
	struct stapy_timer_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++) {
		bool wanted = stapy_wanted(rows[i].site.probe);

		if (wanted && !rows[i].armed)
			arm(&rows[i]);
		else if (!wanted && rows[i].armed)
			disarm(&rows[i]);
	}
}

static int start(void *table, unsigned int count)
{
	struct stapy_timer_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_timer_row *row = &rows[i];

		if (row->in_jiffies) {
			timer_setup(&row->wheel, on_wheel, 0);
			row->wheel.expires = jiffies + interval_of(row);
		} else {
			stapy_hrtimer_init(&row->hr, on_hrtimer);
			hrtimer_set_expires(&row->hr, ktime_add_ns(ktime_get(), interval_of(row)));
		}
	}
	rearm(table, count);
	return 0;
}

static void stop(void *table, unsigned int count)
{
	struct stapy_timer_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		disarm(&rows[i]);
}

const struct stapy_family stapy_timer = {
	.name = "timer",
	.start = start,
	.stop = stop,
	.rearm = rearm,
};

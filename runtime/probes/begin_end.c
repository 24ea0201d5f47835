// SPDX-License-Identifier: GPL-2.0-or-later
/* begin, end and error probes: run one after the other in process context. */
#include "../internal.h"

/* True when the handler called abort(). */
static bool run(struct stapy_begin_end_row *row)
{
	struct stapy_context *c = stapy_enter_in(&row->site, stapy_state());
	bool aborted;

	if (!c)
		return false;
	stapy_interruptible(c);
	c->actions = stapy_session.limits.maxaction_interruptible;
	stapy_run(c);
	aborted = c->aborted;
	stapy_leave(c);
	cond_resched();
	return aborted;
}

/*
 * Probes of one phase and number are one hit, as in SystemTap: neither an error nor
 * exit() in one of them keeps the others from running, and their errors count as one.
 * Returns the row behind them.
 */
static unsigned int run_together(struct stapy_begin_end_row *rows, unsigned int count,
				 unsigned int first)
{
	bool aborted = false;
	unsigned int i;

	stapy_hold_errors();
	for (i = first; i < count; i++) {
		if (rows[i].phase != rows[first].phase || rows[i].order != rows[first].order)
			break;
		if (!aborted)
			aborted = run(&rows[i]);
	}
	stapy_judge_errors();
	return i;
}

static void run_phase(struct stapy_begin_end_row *rows, unsigned int count, enum stapy_phase phase)
{
	enum stapy_state state = stapy_state();
	bool failed = READ_ONCE(stapy_failed);
	unsigned int i = 0;

	/* What ends the session, or makes it fail, ends the phase. */
	while (i < count && stapy_state() == state && READ_ONCE(stapy_failed) == failed)
		i = rows[i].phase == phase ? run_together(rows, count, i) : i + 1;
}

static int start(void *rows, unsigned int count)
{
	run_phase(rows, count, STAPY_BEGIN);
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	if (!READ_ONCE(stapy_failed))
		run_phase(rows, count, STAPY_END);
	if (READ_ONCE(stapy_failed))
		run_phase(rows, count, STAPY_ERROR);
}

const struct stapy_family stapy_begin_end = {
	.name = "begin_end",
	.phases = true,
	.start = start,
	.stop = stop,
};

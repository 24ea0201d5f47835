// SPDX-License-Identifier: GPL-2.0-or-later
/* begin, end and error probes: run one after the other in process context. */
#include "../internal.h"

static void run_phase(struct stapy_begin_end_row *rows, unsigned int count, enum stapy_phase phase,
		      enum stapy_state state)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_context *c;

		if (rows[i].phase != phase)
			continue;
		c = stapy_enter_in(&rows[i].site, state);
		if (!c)
			continue;
		c->interruptible = true;
		c->actions = stapy_session.limits.maxaction_interruptible;
		stapy_run(c);
		stapy_leave(c);
		cond_resched();
	}
}

static int start(void *rows, unsigned int count)
{
	run_phase(rows, count, STAPY_BEGIN, STAPY_STARTING);
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	run_phase(rows, count, READ_ONCE(stapy_failed) ? STAPY_ERROR : STAPY_END, STAPY_STOPPING);
}

const struct stapy_family stapy_begin_end = {
	.name = "begin_end",
	.phases = true,
	.start = start,
	.stop = stop,
};

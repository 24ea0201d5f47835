/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hit of a perf event: the families whose rows are the contexts of such events. */
#ifndef STAPY_EVENT_H
#define STAPY_EVENT_H

#include "../hit.h"
#include "../compat/linux/perf_event.h"

/* In an interrupt, or like an NMI anywhere, with a small stack of its own. */
static void stapy_on_event(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	const struct stapy_site *site = event->overflow_handler_context;
	struct stapy_probe *probe = site->probe;
	struct stapy_context *c;

	if (!stapy_hit_enter(site, probe, STAPY_RUNNING, &c))
		return;
	if (user_mode(regs))
		c->user_regs = regs;
	else if (stapy_perf_regs_whole(regs))
		c->regs = regs;
	else
		c->address = instruction_pointer(regs);
	if (in_nmi())
		c->stack_floor = stapy_small_stack_floor();
	stapy_hit_run(c, probe->handler);
	c->stack_floor = 0;
	stapy_hit_leave(c);
}

/* Events are made once, in the state that their probe wants, and switched from then on. */
static bool stapy_event_wanted(const struct stapy_site *site, bool *armed)
{
	*armed = stapy_wanted(site->probe);
	return *armed;
}

static void stapy_rearm_events(const struct stapy_site *site, struct perf_event * __percpu *events,
			       bool *armed)
{
	bool before = *armed;
	int cpu;

	if (!events || stapy_event_wanted(site, armed) == before)
		return;
	for_each_possible_cpu(cpu) {
		struct perf_event *event = *per_cpu_ptr(events, cpu);

		if (!event)
			continue;
		if (*armed)
			perf_event_enable(event);
		else
			perf_event_disable(event);
	}
}

#endif

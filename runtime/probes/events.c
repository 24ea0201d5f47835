// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf events for each CPU. What the kernel does to make one may take the lock of CPU
 * hotplug (a static key for counters of software, a tracepoint for others), so it is never
 * held here: the kernel itself tells, under locks of its own, that a CPU is not there.
 * Of a CPU that goes, it takes the events out of use for good; the CPU gets new ones when
 * it is back.
 */
#include "event.h"

static DEFINE_MUTEX(mutex);		/* of the events of all rows */

/* In an interrupt, or like an NMI anywhere, with a small stack of its own. */
void stapy_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct stapy_site *site = event->overflow_handler_context;
	struct stapy_probe *probe = site->probe;
	struct stapy_context *c = stapy_hit_enter(NULL, site, NULL, 0);

	if (!c)
		return;
	if (user_mode(regs))
		c->user_regs = regs;
	else if (stapy_perf_regs_whole(regs))
		c->regs = regs;
	else
		c->address = instruction_pointer(regs);
	stapy_hit_run(c, probe->handler);
	c->user_regs = NULL;
	stapy_hit_leave(c);
}

s64 stapy_event_count(struct perf_event *event)
{
	unsigned long flags;
	s64 count;

	local_irq_save(flags);
	/* What the processor has counted since it was last asked. */
	if (event->state == PERF_EVENT_STATE_ACTIVE && READ_ONCE(event->oncpu) == smp_processor_id())
		event->pmu->read(event);
	count = local64_read(&event->count);
	local_irq_restore(flags);
	return count;
}

static struct perf_event **event_of(struct stapy_events *events, int cpu)
{
	return per_cpu_ptr(events->on, cpu);
}

/* False for one that the kernel has let go because its CPU went. */
static bool attached(const struct perf_event *event)
{
	return READ_ONCE(event->attach_state) & PERF_ATTACH_CONTEXT;
}

static int add(struct stapy_site *site, struct stapy_events *events, struct perf_event_attr *attr,
	       int cpu)
{
	struct perf_event *event;

	attr->disabled = !events->armed;
	event = perf_event_create_kernel_counter(attr, cpu, NULL, stapy_on_event, site);
	if (IS_ERR(event))
		return PTR_ERR(event);
	*event_of(events, cpu) = event;
	return 0;
}

static void release(struct perf_event **event)
{
	if (*event)
		perf_event_release_kernel(*event);
	*event = NULL;
}

static void release_all(struct stapy_events *events)
{
	int cpu;

	if (!events->on)
		return;
	for_each_possible_cpu(cpu)
		release(event_of(events, cpu));
	free_percpu(events->on);
	events->on = NULL;
}

int stapy_events_arm(struct stapy_site *site, struct stapy_events *events,
		     struct perf_event_attr *attr)
{
	int cpu, made = 0, absent = 0, r = 0;

	mutex_lock(&mutex);
	events->armed = stapy_wanted(site->probe);
	events->on = alloc_percpu(struct perf_event *);
	if (!events->on)
		r = -ENOMEM;
	for_each_online_cpu(cpu) {
		if (r)
			break;
		r = add(site, events, attr, cpu);
		if (!r)
			made++;
		/* It is on its way out or in: stapy_events_complete() looks after it. */
		if (r == -ENODEV) {
			absent = r;
			r = 0;
		}
	}
	if (!r && !made)
		r = absent;
	if (r)
		release_all(events);
	mutex_unlock(&mutex);
	return r;
}

void stapy_events_rearm(struct stapy_site *site, struct stapy_events *events)
{
	bool wanted = stapy_wanted(site->probe);
	int cpu;

	mutex_lock(&mutex);
	if (events->on && wanted != events->armed) {
		events->armed = wanted;
		for_each_possible_cpu(cpu) {
			struct perf_event *event = *event_of(events, cpu);

			if (event && wanted)
				perf_event_enable(event);
			else if (event)
				perf_event_disable(event);
		}
	}
	mutex_unlock(&mutex);
}

bool stapy_events_complete(struct stapy_site *site, struct stapy_events *events,
			   struct perf_event_attr *attr)
{
	bool complete = true;
	int cpu;

	mutex_lock(&mutex);
	for_each_online_cpu(cpu) {
		struct perf_event **event;

		if (!events->on)
			break;
		event = event_of(events, cpu);
		if (*event && attached(*event))
			continue;
		release(event);
		if (add(site, events, attr, cpu))
			complete = false;
	}
	mutex_unlock(&mutex);
	return complete;
}

void stapy_events_disarm(struct stapy_events *events)
{
	mutex_lock(&mutex);
	release_all(events);
	mutex_unlock(&mutex);
}

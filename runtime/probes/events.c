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

/*
 * A debug register also sees what handlers of ours read, and that is no hit. Whoever interrupts
 * a handler has another level, which the exception itself has raised by one NMI.
 */
static bool is_own_access(struct pt_regs *regs)
{
	const struct stapy_context *c = &raw_cpu_ptr(stapy_cpus)->c;
	unsigned long level = preempt_count() - (NMI_OFFSET + HARDIRQ_OFFSET);

	return !user_mode(regs) && READ_ONCE(c->busy) &&
	       !((level ^ c->level) & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK));
}

/* In an interrupt, or like an NMI anywhere, with a small stack of its own. */
void stapy_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct stapy_site *site = event->overflow_handler_context;
	struct stapy_probe *probe = site->probe;
	struct stapy_context *c;

	if (event->attr.type == PERF_TYPE_BREAKPOINT && is_own_access(regs))
		return;
	c = stapy_hit_enter(NULL, site, NULL, 0);
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

static int arm(struct stapy_site *site, struct stapy_events *events, struct perf_event_attr *attr)
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
		/* It is on its way out or in: complete_row() looks after it. */
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

static void rearm(struct stapy_site *site, struct stapy_events *events)
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

static bool complete_row(struct stapy_site *site, struct stapy_events *events,
			 struct perf_event_attr *attr)
{
	bool all = true;
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
			all = false;
	}
	mutex_unlock(&mutex);
	return all;
}

static void disarm(struct stapy_events *events)
{
	mutex_lock(&mutex);
	release_all(events);
	mutex_unlock(&mutex);
}

static struct stapy_site *row_at(const struct stapy_event_rows *rows, void *table, unsigned int i)
{
	return table + i * rows->bytes;
}

static struct stapy_events *events_of(const struct stapy_event_rows *rows, void *row)
{
	return row + rows->events;
}

static int start_row(const struct stapy_event_rows *rows, void *row)
{
	struct perf_event_attr attr;
	int r = rows->locate ? rows->locate(row) : 0;

	if (r)
		return r;
	attr = rows->describe(row);
	return arm(row, events_of(rows, row), &attr);
}

/* What a machine counts differs, and its debug registers are few: the session goes on without. */
int stapy_event_rows_start(const struct stapy_event_rows *rows, void *table, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_site *row = row_at(rows, table, i);
		int r;

		if (stapy_interrupted()) {
			stapy_event_rows_stop(rows, table, count);
			return -EINTR;
		}
		r = start_row(rows, row);
		if (r)
			stapy_warn("probe %s registration error (rc %d)%s", row->point, r,
				   rows->reason(r));
	}
	return 0;
}

void stapy_event_rows_rearm(const struct stapy_event_rows *rows, void *table, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_site *row = row_at(rows, table, i);

		rearm(row, events_of(rows, row));
	}
}

bool stapy_event_rows_complete(const struct stapy_event_rows *rows, void *table, unsigned int count)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct stapy_site *row = row_at(rows, table, i);
		struct perf_event_attr attr = rows->describe(row);

		all &= complete_row(row, events_of(rows, row), &attr);
	}
	return all;
}

void stapy_event_rows_stop(const struct stapy_event_rows *rows, void *table, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		disarm(events_of(rows, row_at(rows, table, i)));
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.* and timer.profile: samples of counters of the CPU and the kernel. */
#include "event.h"

static void disarm(struct stapy_perf_row *row)
{
	int cpu;

	if (!row->events)
		return;
	for_each_possible_cpu(cpu) {
		struct perf_event *event = *per_cpu_ptr(row->events, cpu);

		if (event)
			perf_event_release_kernel(event);
	}
	free_percpu(row->events);
	row->events = NULL;
}

static int arm(struct stapy_perf_row *row)
{
	struct perf_event_attr attr = {
		.type = row->type,
		.size = sizeof(attr),
		.config = row->config,
		.sample_period = row->period,
		.disabled = !stapy_event_wanted(&row->site, &row->armed),
	};
	int cpu, r = 0;

	if (!row->period) {
		attr.freq = 1;
		attr.sample_freq = row->hz ?: HZ;
	}
	row->events = alloc_percpu(struct perf_event *);
	if (!row->events)
		return -ENOMEM;
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct perf_event *event;

		event = perf_event_create_kernel_counter(&attr, cpu, NULL, stapy_on_event, row);
		if (IS_ERR(event)) {
			r = PTR_ERR(event);
			break;
		}
		*per_cpu_ptr(row->events, cpu) = event;
	}
	cpus_read_unlock();
	if (r)
		disarm(row);
	return r;
}

static void rearm(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		stapy_rearm_events(&rows[i].site, rows[i].events, &rows[i].armed);
}

static void stop(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		disarm(&rows[i]);
}

/* What a machine counts differs. */
static int start(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;
	int r, error = 0;

	for (i = 0; i < count && !error; i++) {
		r = arm(&rows[i]);
		if (!r)
			continue;
		stapy_control(rows[i].optional ? "warning" : "error",
			      "probe %s registration error (rc %d)%s", rows[i].site.point, r,
			      r == -ENOENT || r == -EOPNOTSUPP ?
			      ": this machine does not count such events" : "");
		if (!rows[i].optional)
			error = r;
	}
	if (error)
		stop(rows, count);
	return error;
}

const struct stapy_family stapy_perf = {
	.name = "perf",
	.start = start,
	.stop = stop,
	.rearm = rearm,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.* and timer.profile: samples of counters of the CPU and the kernel. */
#include "event.h"

static struct perf_event_attr describe(const struct stapy_perf_row *row)
{
	struct perf_event_attr attr = {
		.type = row->type,
		.size = sizeof(attr),
		.config = row->config,
		.sample_period = row->period,
	};

	if (!row->period && !row->counter) {
		attr.freq = 1;
		attr.sample_freq = row->hz ?: HZ;
	}
	return attr;
}

static struct stapy_perf_row *all_rows;
static unsigned int nr_rows;

s64 stapy_cpu_counter(u32 number)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct perf_event *event;

		if (all_rows[i].counter != number || !all_rows[i].events.on)
			continue;
		event = READ_ONCE(*this_cpu_ptr(all_rows[i].events.on));
		return event ? stapy_event_count(event) : 0;
	}
	return 0;
}

static void rearm(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		stapy_events_rearm(&rows[i].site, &rows[i].events);
}

static bool complete_rows(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	bool all = true;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct perf_event_attr attr = describe(&rows[i]);

		all &= stapy_events_complete(&rows[i].site, &rows[i].events, &attr);
	}
	return all;
}

static void stop(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		stapy_events_disarm(&rows[i].events);
}

/* What a machine counts differs: the session goes on without what it does not. */
static int start(void *table, unsigned int count)
{
	struct stapy_perf_row *rows = table;
	unsigned int i;

	all_rows = rows;
	nr_rows = count;
	for (i = 0; i < count; i++) {
		struct perf_event_attr attr = describe(&rows[i]);
		int r;

		if (stapy_interrupted()) {
			stop(rows, count);
			return -EINTR;
		}
		r = stapy_events_arm(&rows[i].site, &rows[i].events, &attr);
		if (r)
			stapy_warn("probe %s registration error (rc %d)%s", rows[i].site.point, r,
				   r == -ENOENT || r == -EOPNOTSUPP ?
				   ": this machine does not count such events" : "");
	}
	return 0;
}

const struct stapy_family stapy_perf = {
	.name = "perf",
	.start = start,
	.stop = stop,
	.rearm = rearm,
	.complete = complete_rows,
};

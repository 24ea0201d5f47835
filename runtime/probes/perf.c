// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.* and timer.profile: samples of counters of the CPU and the kernel. */
#include "event.h"

static struct perf_event_attr describe(const void *of)
{
	const struct stapy_perf_row *row = of;
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

static const char *reason(int error)
{
	if (error == -ENOENT || error == -EOPNOTSUPP)
		return ": this machine does not count such events";
	return "";
}

static const struct stapy_event_rows kind = {
	.bytes = sizeof(struct stapy_perf_row),
	.events = offsetof(struct stapy_perf_row, events),
	.describe = describe,
	.reason = reason,
};

static int start(void *table, unsigned int count)
{
	all_rows = table;
	nr_rows = count;
	return stapy_event_rows_start(&kind, table, count);
}

static void stop(void *table, unsigned int count)
{
	stapy_event_rows_stop(&kind, table, count);
}

static void rearm(void *table, unsigned int count)
{
	stapy_event_rows_rearm(&kind, table, count);
}

static bool complete_rows(void *table, unsigned int count)
{
	return stapy_event_rows_complete(&kind, table, count);
}

const struct stapy_family stapy_perf = {
	.name = "perf",
	.start = start,
	.stop = stop,
	.rearm = rearm,
	.complete = complete_rows,
};

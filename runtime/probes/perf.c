// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.* and timer.profile: samples of counters of the CPU and the kernel. */
#include "../hit.h"
#include "../compat/linux/perf_event.h"

/* In an interrupt or, for counters of the CPU, in an NMI with a small stack of its own. */
static void on_sample(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct stapy_perf_row *row = event->overflow_handler_context;
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
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

		event = perf_event_create_kernel_counter(&attr, cpu, NULL, on_sample, row);
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
};

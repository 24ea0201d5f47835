// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts: taking one for a hit, running the handler, accounting. */
#include "hit.h"

#define MAX_FRAMES 20			/* of a backtrace, without -D MAXBACKTRACE */

struct stapy_cpu __percpu *stapy_cpus;
unsigned long stapy_stack_space;
unsigned int stapy_stack_frames;

int stapy_contexts_alloc(void)
{
	int cpu;

	stapy_cpus = alloc_percpu(struct stapy_cpu);
	if (!stapy_cpus)
		return -ENOMEM;
	stapy_stack_space = max(stapy_session.limits.minstackspace, 0);
	stapy_stack_frames = max(stapy_session.limits.maxbacktrace ?: MAX_FRAMES, 0);
	for_each_possible_cpu(cpu) {
		struct stapy_cpu *own = per_cpu_ptr(stapy_cpus, cpu);
		struct stapy_context *c = &own->c;

		own->stack = kvcalloc(stapy_stack_frames, sizeof(*own->stack), GFP_KERNEL);
		if (!own->stack)
			return -ENOMEM;

		c->actions = stapy_session.limits.maxaction;
		c->nesting = stapy_session.limits.maxnesting;
		c->timed = stapy_session.limits.timing;
		own->budget = c->budget;
		own->flags = c->flags;
		if (!stapy_session.frame_bytes)
			continue;
		c->frame = vzalloc_node(ALIGN(stapy_session.frame_bytes, 8), cpu_to_node(cpu));
		if (!c->frame)
			return -ENOMEM;
		c->frame_end = c->frame + stapy_session.frame_bytes;
		c->frame_start = c->frame;
	}
	return 0;
}

void stapy_contexts_free(void)
{
	int cpu;

	if (!stapy_cpus)
		return;
	for_each_possible_cpu(cpu) {
		vfree(per_cpu_ptr(stapy_cpus, cpu)->c.frame_start);
		kvfree(per_cpu_ptr(stapy_cpus, cpu)->stack);
	}
	free_percpu(stapy_cpus);
	stapy_cpus = NULL;
}

void stapy_contexts_wait(void)
{
	int cpu;

	synchronize_rcu();
	for_each_possible_cpu(cpu)
		while (atomic_read(&per_cpu_ptr(stapy_cpus, cpu)->c.busy))
			msleep(1);
}

struct stapy_context *stapy_enter(const struct stapy_site *site)
{
	return stapy_enter_in(site, STAPY_RUNNING);
}

struct stapy_context *stapy_enter_in(const struct stapy_site *site, enum stapy_state state)
{
	struct stapy_context *c;

	return stapy_hit_enter(site, site->probe, state, &c) ? c : NULL;
}

void stapy_run_handler(struct stapy_context *c, void (*handler)(struct stapy_context *c))
{
	stapy_hit_run(c, handler);
}

void stapy_run(struct stapy_context *c)
{
	stapy_hit_run(c, c->probe->handler);
}

static void report_error(struct stapy_context *c)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	if (c->aborted)
		return;
	stapy_control(limits->suppress_handler_errors ? "warning" : "error", "%s", c->error);
	if (atomic_inc_return(&stapy_session.errors) > limits->maxerrors &&
	    !limits->suppress_handler_errors)
		stapy_fail();
}

static void record_cycles(struct stapy_probe *probe, u64 cycles)
{
	static const struct stapy_stat_shape shape = { .variance = 1 };

	/* Without memory of its own: the report itself. */
	if (probe->cycles)
		stapy_stat_record(this_cpu_ptr(probe->cycles), &shape, cycles);
}

void stapy_settle(struct stapy_context *c)
{
	if (c->error)
		report_error(c);
	if (c->out.at)
		stapy_ring_commit(c);
	c->error = NULL;
	c->regex = NULL;
	if (c->timed)
		record_cycles(c->probe, get_cycles() - c->entered);
	/* The overload rule is not for probes in process context. */
	if (c->interruptible)
		c->entered = get_cycles();
}

static void overloaded(u64 cycles, u64 interval)
{
	stapy_control("error",
		      "probe overhead (%llu cycles) exceeded threshold (%llu cycles) in last %llu cycles",
		      cycles, stapy_session.limits.overload_threshold, interval);
	atomic_inc(&stapy_session.errors);
	stapy_fail();
}

void stapy_overload_interval(struct stapy_cpu *cpu, u64 now)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	/* Nothing is known about the time before the first hit. */
	if (cpu->overload_start && cpu->overload_cycles > limits->overload_threshold &&
	    !limits->no_overload && !limits->suppress_time_limits)
		overloaded(cpu->overload_cycles, now - cpu->overload_start);
	cpu->overload_start = now;
	cpu->overload_cycles = 0;
}

void stapy_leave(struct stapy_context *c)
{
	stapy_hit_leave(c);
}

bool stapy_error(struct stapy_context *c, const char *place, const char *fmt, ...)
{
	va_list args;
	int n;

	if (c->error)
		return false;
	va_start(args, fmt);
	n = vscnprintf(c->error_text, sizeof(c->error_text), fmt, args);
	va_end(args);
	if (place)
		scnprintf(c->error_text + n, sizeof(c->error_text) - n, " %s", place);
	c->error = c->error_text;
	c->eventful = true;
	return false;
}

bool stapy_out_of_actions(struct stapy_context *c, const char *place)
{
	if (stapy_session.limits.suppress_time_limits) {
		c->actions = INT_MAX;
		return true;
	}
	return stapy_error(c, place, "MAXACTION exceeded");
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts: taking one for a hit, running the handler, accounting. */
#include "internal.h"

struct stapy_cpu __percpu *stapy_cpus;

int stapy_contexts_alloc(void)
{
	int cpu;

	stapy_cpus = alloc_percpu(struct stapy_cpu);
	if (!stapy_cpus)
		return -ENOMEM;
	if (!stapy_session.frame_bytes)
		return 0;
	for_each_possible_cpu(cpu) {
		struct stapy_context *c = &per_cpu_ptr(stapy_cpus, cpu)->c;

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
	for_each_possible_cpu(cpu)
		vfree(per_cpu_ptr(stapy_cpus, cpu)->c.frame_start);
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

/* Only the task's own stack is checked: the others are entered nearly empty. */
static inline bool stack_short(void)
{
	return current_stack_pointer - (unsigned long)task_stack_page(current) <
	       (unsigned long)stapy_session.limits.minstackspace;
}

static __always_inline struct stapy_context *enter(const struct stapy_site *site,
						   enum stapy_state state)
{
	struct stapy_probe *probe = site->probe;
	struct stapy_context *c;

	preempt_disable_notrace();
	if (unlikely(stapy_state() != state))
		goto out;
	if (unlikely(probe->condition) && !probe->condition())
		goto out;
	c = &this_cpu_ptr(stapy_cpus)->c;
	if (unlikely(atomic_read(&c->busy))) {
		stapy_skip(STAPY_SKIP_REENTRANT);
		goto out;
	}
	if (unlikely(stack_short())) {
		stapy_skip(STAPY_SKIP_STACK);
		goto out;
	}
	/* No other CPU takes this context, and a nested hit ends before we go on. */
	atomic_set(&c->busy, 1);
	barrier();
	c->entered = get_cycles();
	c->site = site;
	c->probe = probe;
	c->regs = NULL;
	c->user_regs = NULL;
	c->args = NULL;
	c->slots = NULL;
	c->data = NULL;
	c->address = 0;
	c->is_return = false;
	c->interruptible = false;
	c->error = NULL;
	c->aborted = false;
	c->regex = NULL;
	c->actions = stapy_session.limits.maxaction;
	c->nesting = stapy_session.limits.maxnesting;
	c->frame = c->frame_start;
	return c;
out:
	preempt_enable_notrace();
	return NULL;
}

struct stapy_context *stapy_enter(const struct stapy_site *site)
{
	return enter(site, STAPY_RUNNING);
}

struct stapy_context *stapy_enter_in(const struct stapy_site *site, enum stapy_state state)
{
	return enter(site, state);
}

static void report_error(struct stapy_context *c)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	stapy_control(limits->suppress_handler_errors ? "warning" : "error", "%s", c->error);
	if (atomic_inc_return(&stapy_session.errors) > limits->maxerrors &&
	    !limits->suppress_handler_errors)
		stapy_fail();
}

void stapy_run_handler(struct stapy_context *c, void (*handler)(struct stapy_context *c))
{
	handler(c);
	if (unlikely(c->error) && !c->aborted)
		report_error(c);
}

void stapy_run(struct stapy_context *c)
{
	stapy_run_handler(c, c->probe->handler);
}

static void overloaded(u64 cycles, u64 interval)
{
	stapy_control("error",
		      "probe overhead (%llu cycles) exceeded threshold (%llu cycles) in last %llu cycles",
		      cycles, stapy_session.limits.overload_threshold, interval);
	atomic_inc(&stapy_session.errors);
	stapy_fail();
}

/* Too much of the CPU's time went into handlers: the session ends. */
static inline void check_overload(struct stapy_cpu *cpu, u64 now, u64 cycles)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	u64 interval = now - cpu->overload_start;

	cpu->overload_cycles += cycles;
	if (likely(interval <= limits->overload_interval))
		return;
	/* Nothing is known about the time before the first hit. */
	if (cpu->overload_start && cpu->overload_cycles > limits->overload_threshold &&
	    !limits->no_overload && !limits->suppress_time_limits)
		overloaded(cpu->overload_cycles, interval);
	cpu->overload_start = now;
	cpu->overload_cycles = 0;
}

void stapy_leave(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	u64 now, cycles;

	if (c->out.at)
		stapy_ring_commit(c);
	now = get_cycles();
	cycles = now - c->entered;
	if (unlikely(c->probe->cycles)) {
		static const struct stapy_stat_shape shape = { .variance = 1 };

		stapy_stat_record(this_cpu_ptr(c->probe->cycles), &shape, cycles);
	}
	if (likely(!c->interruptible))
		check_overload(cpu, now, cycles);
	barrier();
	atomic_set(&c->busy, 0);
	preempt_enable_notrace();
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

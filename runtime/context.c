// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts: taking one for a hit, running the handler, accounting. */
#include "hit.h"
#include "steps.h"

#define DEEP_BYTES 1536			/* of the kernel's unwinder and the like */
#define MAX_FRAMES 20			/* of a backtrace, without -D MAXBACKTRACE */

struct stapy_cpu __percpu *stapy_cpus;
unsigned long stapy_stack_space;
unsigned long stapy_stack_rest;
unsigned int stapy_stack_frames;
const char stapy_at_call[] = "";

int stapy_contexts_alloc(void)
{
	int cpu;

	stapy_cpus = alloc_percpu(struct stapy_cpu);
	if (!stapy_cpus)
		return -ENOMEM;
	stapy_stack_space = clamp_t(long, max(stapy_session.limits.minstackspace, stapy_session.stack_bytes),
				    0, THREAD_SIZE);
	stapy_stack_rest = THREAD_SIZE - stapy_stack_space;
	stapy_stack_frames = max(stapy_session.limits.maxbacktrace ?: MAX_FRAMES, 0);
	for_each_possible_cpu(cpu) {
		struct stapy_cpu *own = per_cpu_ptr(stapy_cpus, cpu);
		struct stapy_context *c = &own->c;

		own->stack = stapy_alloc(max(stapy_stack_frames, 1u), sizeof(*own->stack));
		own->steps = stapy_alloc(STAPY_STEPS, sizeof(*own->steps));
		if (!own->stack || !own->steps)
			return -ENOMEM;

		c->actions = stapy_session.limits.maxaction;
		c->nesting = stapy_session.limits.maxnesting;
		c->timed = stapy_session.limits.timing;
		own->budget = c->budget;
		c->number = 1;
	}
	return 0;
}

int stapy_frames_alloc(void)
{
	int cpu;

	if (!stapy_session.frame_bytes)
		return 0;
	for_each_possible_cpu(cpu) {
		struct stapy_context *c = &per_cpu_ptr(stapy_cpus, cpu)->c;

		c->frame = stapy_alloc_node(ALIGN(stapy_session.frame_bytes, 8), cpu_to_node(cpu));
		if (!c->frame)
			return -ENOMEM;
		c->frame_end = c->frame + stapy_session.frame_bytes;
		c->frame_start = c->frame;
	}
	return 0;
}

void stapy_frames_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct stapy_context *c = &per_cpu_ptr(stapy_cpus, cpu)->c;

		kvfree(c->frame_start);
		c->frame = c->frame_start = c->frame_end = NULL;
	}
}

void stapy_contexts_free(void)
{
	int cpu;

	if (!stapy_cpus)
		return;
	for_each_possible_cpu(cpu) {
		kvfree(per_cpu_ptr(stapy_cpus, cpu)->stack);
		kvfree(per_cpu_ptr(stapy_cpus, cpu)->steps);
	}
	free_percpu(stapy_cpus);
	stapy_cpus = NULL;
}

void stapy_contexts_wait(void)
{
	int cpu;

	synchronize_rcu();
	for_each_possible_cpu(cpu)
		while (READ_ONCE(per_cpu_ptr(stapy_cpus, cpu)->c.busy))
			msleep(1);
}

/*
 * Interrupts and exceptions have stacks of their own, at places that only the unwinder
 * tells. They belong to a CPU for good, so the last one is remembered. One that even the
 * unwinder does not know is good for what is left of its page.
 */
static noinline void find_stack(struct stapy_context *c, unsigned long at)
{
	unsigned long low, high;

	if (!stapy_stack_bounds(&low, &high) || at < low || at >= high) {
		low = at & PAGE_MASK;
		high = low + PAGE_SIZE;
	}
	c->stack_low = low;
	c->stack_bytes = high - low;
}

unsigned long stapy_stack_left(struct stapy_context *c)
{
	unsigned long at = current_stack_pointer;
	unsigned long left = at - (unsigned long)task_stack_page(current);

	if (left < THREAD_SIZE)
		return left;
	if (at - c->stack_low >= c->stack_bytes)
		find_stack(c, at);
	return at - c->stack_low;
}

bool stapy_stack_short(struct stapy_context *c, const struct stapy_probe *probe)
{
	if (stapy_stack_left(c) >= stapy_stack_space)
		return false;
	stapy_skip(STAPY_SKIP_STACK, probe);
	return true;
}

bool stapy_stack_suffices(struct stapy_context *c)
{
	unsigned long wanted = max_t(unsigned long, stapy_stack_space, DEEP_BYTES);
	unsigned long left = stapy_stack_left(c);

	return likely(left >= wanted) ||
	       stapy_error(c, NULL, "only %lu bytes of stack are left, check MINSTACKSPACE", left);
}

bool stapy_nest_far(struct stapy_context *c, const char *place)
{
	unsigned long left, reserve = STAPY_TASK_RESERVE;

	if (c->nesting < 0)
		return stapy_error(c, place, "MAXNESTING exceeded");
	left = stapy_stack_left(c);
	if (current_stack_pointer - (unsigned long)task_stack_page(current) >= THREAD_SIZE)
		reserve = STAPY_OTHER_RESERVE(c->stack_bytes);
	if (likely(left >= reserve))
		return true;
	return stapy_error(c, place, "MAXNESTING exceeded: the stack has no room for deeper calls");
}

/*
 * This CPU's context with preemption off, or NULL. Like the callbacks, it is not traced: before
 * the context is taken, nothing protects from what a tracer of it would do.
 */
static struct stapy_context *STAPY_CALLBACK take(const struct stapy_site *site,
						 struct pt_regs *regs, unsigned long address)
{
	struct stapy_context *c = &this_cpu_ptr(stapy_cpus)->c;

	if (c->busy) {
		stapy_skip(STAPY_SKIP_REENTRANT, site->probe);
		return NULL;
	}
	WRITE_ONCE(c->busy, 1);
	barrier();
	/* Finding out about other stacks may hit probes: they meet a busy context. */
	if (!stapy_stack_plain() && stapy_stack_short(c, site->probe)) {
		barrier();
		WRITE_ONCE(c->busy, 0);
		return NULL;
	}
	stapy_context_begin(c, site, regs, address);
	return c;
}

static struct stapy_context *STAPY_CALLBACK enter(const struct stapy_site *site,
						  enum stapy_state state, struct pt_regs *regs,
						  unsigned long address)
{
	struct stapy_context *c = NULL;
	unsigned long irq_flags = 0;
	bool masked;

	/* Begin and end probes may take their time: no interrupt waits for them. */
	masked = state == STAPY_RUNNING && !stapy_session.limits.interruptible;
	if (masked)
		raw_local_irq_save(irq_flags);
	preempt_disable_notrace();
	if (stapy_state() == state && !(stapy_may_be_off(site->probe) && stapy_left_out(site->probe)))
		c = take(site, regs, address);
	if (c && masked) {
		c->masked = true;
		c->irq_flags = irq_flags;
	}
	if (c)
		return c;
	if (masked)
		raw_local_irq_restore(irq_flags);
	preempt_enable_notrace();
	return NULL;
}

bool STAPY_CALLBACK stapy_hides(const struct stapy_site *site)
{
	return stapy_is_hidden();
}

struct stapy_context *STAPY_CALLBACK stapy_enter_unless(stapy_hides_fn hides,
							const struct stapy_site *site,
							struct pt_regs *regs,
							unsigned long address)
{
	return hides && hides(site) ? NULL : enter(site, STAPY_RUNNING, regs, address);
}

struct stapy_context *stapy_enter(const struct stapy_site *site)
{
	return enter(site, STAPY_RUNNING, NULL, 0);
}

struct stapy_context *stapy_enter_in(const struct stapy_site *site, enum stapy_state state)
{
	return enter(site, state, NULL, 0);
}

void stapy_interruptible(struct stapy_context *c)
{
	c->interruptible = true;
	c->began = get_cycles();
	c->spent += (u32)c->began;
}

void stapy_run(struct stapy_context *c)
{
	stapy_hit_run(c, c->site->probe->handler);
}

/* The entry side of a return probe is work that is told of, and no hit. */
static void record_cycles(const struct stapy_context *c, u64 cycles)
{
	static const struct stapy_stat_shape shape = { .variance = 1 };
	const struct stapy_probe *probe = c->site->probe;
	struct stapy_stat __percpu *sum = c->at_entry ? probe->entry_cycles : probe->cycles;

	/* Without memory of its own: the report itself. */
	if (sum)
		stapy_stat_record(this_cpu_ptr(sum), &shape, cycles);
}

/* What this hit took is added to what the CPU spent, when the overload rule is for it. */
static u64 count_cycles(struct stapy_context *c, u64 now)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	u64 cycles = now - c->began;

	if (!c->interruptible) {
		c->spent += (u32)now;
		cycles = c->spent - cpu->spent;
	}
	cpu->spent = c->spent;
	return cycles;
}

/* Whatever there may be. */
static noinline void settle_all(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	unsigned long irq_flags = c->irq_flags;
	bool masked = c->masked;
	u64 now, cycles;

	/* Whatever is to be looked at is in one word. */
	BUILD_BUG_ON(offsetof(struct stapy_context, site) !=
		     offsetof(struct stapy_context, attention) + sizeof(c->attention));
	if (c->error)
		stapy_report_error(c);
	if (c->out.at)
		stapy_ring_commit(c);
	stapy_caught(c);
	c->regex = NULL;
	c->budget = cpu->budget;
	c->number++;
	now = get_cycles();
	cycles = count_cycles(c, now);
	if (c->timed && !c->missed)
		record_cycles(c, cycles);
	if (stapy_session.limits.on_overload && !c->interruptible)
		stapy_overload_count(c, cycles);
	c->at_entry = false;
	c->attention = 0;
	c->timed = stapy_session.limits.timing;
	if (unlikely(now >= c->deadline))
		stapy_overload_interval(c, now);
	barrier();
	WRITE_ONCE(c->busy, 0);
	if (masked)
		raw_local_irq_restore(irq_flags);
}

void stapy_settle(struct stapy_context *c)
{
	bool printed = c->printed;

	/* Most have printed something, and that is all. */
	c->printed = false;
	if (unlikely(!printed || c->attention)) {
		settle_all(c);
		return;
	}
	stapy_ring_commit(c);
	stapy_context_end(c);
}

void stapy_leave(struct stapy_context *c)
{
	stapy_hit_leave(c);
}

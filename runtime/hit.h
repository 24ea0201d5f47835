/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a hit, inline: what every hit of a hot family pays. The rare
 * paths are functions of context.c.
 */
#ifndef STAPY_HIT_H
#define STAPY_HIT_H

#include "internal.h"

/* What few hits leave behind: an error, output, a match, cycles to record. */
void stapy_settle(struct stapy_context *c);
/* The overload interval of this CPU is over: judge it, begin the next. */
void stapy_overload_interval(struct stapy_cpu *cpu, u64 now);

/* A callback of the kernel: untraced, and without a guard for its few bytes of stack. */
#define STAPY_CALLBACK notrace __no_stack_protector

extern int stapy_hidden;			/* the process that no probe sees, 0: none */
extern bool stapy_masked;			/* -D INTERRUPTIBLE=0 */

/* Did the task itself come here? A breakpoint counts as one NMI, whatever it interrupts. */
static __always_inline bool stapy_came_from_task(void)
{
	unsigned long level = preempt_count();

	if (level & NMI_MASK)
		level -= NMI_OFFSET + HARDIRQ_OFFSET;
	return !(level & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/* The guest's own agent: what it does is none of the script's business. */
static __always_inline bool stapy_is_hidden(void)
{
	return unlikely(stapy_hidden) && current->tgid == stapy_hidden && stapy_came_from_task();
}

/* True on the task's own stack, with MINSTACKSPACE left. */
static __always_inline bool stapy_stack_plain(void)
{
	unsigned long left = current_stack_pointer - (unsigned long)task_stack_page(current);

	return left - stapy_stack_space < THREAD_SIZE - stapy_stack_space;
}

/*
 * Before a context is taken, for what needs much stack even then. Of a stack that is not a
 * task's, only one that was looked at before is judged: looking calls the kernel.
 */
static __always_inline bool stapy_stack_roomy(void)
{
	unsigned long at = current_stack_pointer;
	const struct stapy_context *c;

	if (likely(stapy_stack_plain()))
		return true;
	if (at - (unsigned long)task_stack_page(current) < THREAD_SIZE)
		return false;
	c = &raw_cpu_ptr(stapy_cpus)->c;
	return at - c->stack_low >= c->stack_bytes || at - c->stack_low >= stapy_stack_space;
}

/*
 * stapy_enter() with the result in *context. args, slots and data are left as
 * they are: only handlers of the families that set them look at them.
 */
static __always_inline bool stapy_hit_enter(const struct stapy_site *site, struct stapy_probe *probe,
					    enum stapy_state state, struct stapy_context **context)
{
	struct stapy_context *c;
	struct stapy_cpu *cpu;

	unsigned long irq_flags = 0;

	/* Begin and end probes may take their time: no interrupt waits for them. */
	if (unlikely(stapy_masked) && state == STAPY_RUNNING)
		raw_local_irq_save(irq_flags);
	preempt_disable_notrace();
	if (unlikely(stapy_state() != state))
		goto out;
	if (stapy_is_off(probe))
		goto out;
	cpu = this_cpu_ptr(stapy_cpus);
	c = &cpu->c;
	if (unlikely(atomic_read(&c->busy))) {
		stapy_skip(STAPY_SKIP_REENTRANT);
		goto out;
	}
	/* No other CPU takes this context, and a nested hit ends before we go on. */
	atomic_set(&c->busy, 1);
	barrier();
	/* Finding out about other stacks may hit probes: they meet a busy context. */
	if (unlikely(!stapy_stack_plain() && stapy_stack_short(c))) {
		barrier();
		atomic_set(&c->busy, 0);
		goto out;
	}
	c->entered = get_cycles();
	c->site = site;
	c->probe = probe;
	c->regs = NULL;
	c->user_regs = NULL;
	c->address = 0;
	c->flags = cpu->flags;
	c->budget = cpu->budget;
	c->frame = c->frame_start;
	if (unlikely(stapy_masked)) {
		c->masked = state == STAPY_RUNNING;
		c->irq_flags = irq_flags;
	}
	*context = c;
	return true;
out:
	if (unlikely(stapy_masked) && state == STAPY_RUNNING)
		raw_local_irq_restore(irq_flags);
	preempt_enable_notrace();
	return false;
}

static __always_inline void stapy_hit_run(struct stapy_context *c,
					  void (*handler)(struct stapy_context *c))
{
	handler(c);
}

static __always_inline void stapy_hit_leave(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	unsigned long irq_flags;
	bool masked;
	u64 now;

	if (unlikely(c->attention))
		stapy_settle(c);
	/* Too much of the CPU's time in handlers ends the session. */
	now = get_cycles();
	cpu->overload_cycles += now - c->entered;
	if (unlikely(now - cpu->overload_start > stapy_session.limits.overload_interval))
		stapy_overload_interval(cpu, now);
	masked = unlikely(stapy_masked) && c->masked;
	irq_flags = masked ? c->irq_flags : 0;
	barrier();
	atomic_set(&c->busy, 0);
	if (masked)
		raw_local_irq_restore(irq_flags);
	preempt_enable_notrace();
}

#endif

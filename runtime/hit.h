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

extern unsigned long stapy_stack_space;		/* limits.minstackspace */

/* Only the task's own stack is checked: the others are entered nearly empty. */
static __always_inline bool stapy_stack_short(void)
{
	return current_stack_pointer - (unsigned long)task_stack_page(current) < stapy_stack_space;
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
	if (unlikely(stapy_stack_short())) {
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
	c->address = 0;
	c->flags = cpu->flags;
	c->budget = cpu->budget;
	c->frame = c->frame_start;
	*context = c;
	return true;
out:
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
	u64 now;

	if (unlikely(c->attention))
		stapy_settle(c);
	/* Too much of the CPU's time in handlers ends the session. */
	now = get_cycles();
	cpu->overload_cycles += now - c->entered;
	if (unlikely(now - cpu->overload_start > stapy_session.limits.overload_interval))
		stapy_overload_interval(cpu, now);
	barrier();
	atomic_set(&c->busy, 0);
	preempt_enable_notrace();
}

#endif

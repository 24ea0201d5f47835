/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a hit, inline: what every hit of a hot family pays. The rare
 * paths are functions of context.c.
 */
#ifndef STAPY_HIT_H
#define STAPY_HIT_H

#include "internal.h"

/* Is this hit of a process that nobody is to see? */
typedef bool (*stapy_hides_fn)(const struct stapy_site *site);
/* The same as stapy_enter(), for what is not hidden; `hides` may be NULL. */
struct stapy_context *stapy_enter_unless(stapy_hides_fn hides, const struct stapy_site *site,
					 struct pt_regs *regs, unsigned long address);
/* The way out for a hit with something to clean up: an error, output, cycles to record. */
void stapy_settle(struct stapy_context *c);
/* The overload interval of this CPU is over: judge it, begin the next. */
void stapy_overload_interval(struct stapy_context *c, u64 now);

/* A callback of the kernel: untraced, and without a guard for its few bytes of stack. */
#define STAPY_CALLBACK notrace __no_stack_protector

extern int stapy_hidden;			/* the process that no probe sees, 0: none */

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

/* The same for families that ask it of every hit alike. */
bool stapy_hides(const struct stapy_site *site);

/* True on the task's own stack, with MINSTACKSPACE left. */
static __always_inline bool stapy_stack_plain(void)
{
	unsigned long left = current_stack_pointer - stapy_stack_space -
			     (unsigned long)task_stack_page(current);

	return left < stapy_stack_rest;
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

/* A context that is ours begins its hit. */
static __always_inline void stapy_context_begin(struct stapy_context *c,
						const struct stapy_site *site, struct pt_regs *regs,
						unsigned long address)
{
	c->spent -= (u32)get_cycles();
	c->level = preempt_count();
	c->site = site;
	c->regs = regs;
	c->address = address;
	c->frame = c->frame_start;
}

/*
 * Take the context for a hit of a probe without a condition when there is nothing to it: the
 * session runs, this CPU's context is free and the stack is a task's. Otherwise false, and
 * stapy_enter_unless() tells what is to be done; whoever calls that from a function of its own
 * needs few registers here. args, slots and data are left as they are: only handlers of the
 * families that set them look at them. The state is compared as a whole: where there is a
 * process to hide, or interrupts are to be masked, it is never just STAPY_RUNNING.
 */
static __always_inline bool stapy_hit_begin(struct stapy_context **context,
					    const struct stapy_site *site, struct pt_regs *regs,
					    unsigned long address)
{
	struct stapy_context *c;

	preempt_disable_notrace();
	c = &this_cpu_ptr(stapy_cpus)->c;
	if (likely(stapy_session.state.counter == STAPY_RUNNING && !c->busy && stapy_stack_plain())) {
		/* No other CPU takes this context, and a nested hit ends before we go on. */
		WRITE_ONCE(c->busy, 1);
		barrier();
		stapy_context_begin(c, site, regs, address);
		*context = c;
		return true;
	}
	preempt_enable_notrace();
	return false;
}

/* Any hit; the calls in it cost the caller more registers than the above. */
static __always_inline struct stapy_context *stapy_hit_enter(stapy_hides_fn hides,
							     const struct stapy_site *site,
							     struct pt_regs *regs,
							     unsigned long address)
{
	struct stapy_context *c;

	if (likely(!stapy_may_be_off(site->probe) && stapy_hit_begin(&c, site, regs, address)))
		return c;
	return stapy_enter_unless(hides, site, regs, address);
}

static __always_inline void stapy_hit_run(struct stapy_context *c,
					  void (*handler)(struct stapy_context *c))
{
	handler(c);
}

/* The hit is over, and there is nothing to clean up any more. */
static __always_inline void stapy_context_end(struct stapy_context *c)
{
	u64 now = get_cycles();

	/* Too much of the CPU's time in handlers ends the session. */
	c->spent += (u32)now;
	if (unlikely(now >= c->deadline))
		stapy_overload_interval(c, now);
	barrier();
	WRITE_ONCE(c->busy, 0);
}

static __always_inline void stapy_hit_leave(struct stapy_context *c)
{
	if (unlikely(c->attention))
		stapy_settle(c);
	else
		stapy_context_end(c);
	preempt_enable_notrace();
}

#endif

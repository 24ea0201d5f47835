// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel stacks, by the kernel's own unwinder. */
#include "arch/machine.h"
#include "internal.h"
#include "steps.h"

/* An address but no registers: what is deeper than that address is the kernel's way to us. */
static unsigned int walk_from(unsigned long address, unsigned long *to)
{
	unsigned int n = stapy_unwind(current, NULL, to, stapy_stack_frames), i;

	for (i = 0; i < n && to[i] != address; i++)
		;
	if (i == n)
		return n;
	memmove(to, to + i, (n - i) * sizeof(*to));
	return n - i;
}

static unsigned int walk(struct stapy_context *c, unsigned long *to, unsigned int max)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);

	if (!c->regs && c->address)
		return walk_from(c->address, to);
	if (!c->regs)
		return stapy_unwind(current, NULL, to, max);
	/* A breakpoint leaves the registers one byte behind the probed place. */
	to[0] = c->address && !c->is_return ? c->address : instruction_pointer(c->regs);
	if (max == 1)
		return 1;
	to[1] = c->address && !c->is_return ? stapy_link_before_frame(c->regs) : 0;
	if (to[1])
		return 2 + stapy_unwind(current, c->regs, to + 2, max - 2);
	/* What is not of a place, but a sample or an interrupt, will hardly come by the same one again. */
	if (!c->address)
		return 1 + stapy_unwind(current, c->regs, to + 1, max - 1);
	return 1 + stapy_steps_walk(cpu->steps, c->regs, to + 1, max - 1);
}

unsigned int stapy_kernel_stack(struct stapy_context *c, const unsigned long **to,
				unsigned int max)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);

	*to = cpu->stack;
	max = min(max, stapy_stack_frames);
	if (!max || !stapy_stack_suffices(c))
		return 0;
	if (cpu->stack_of != c->number) {
		cpu->stack_of = c->number;
		c->eventful = true;
		cpu->stack_depth = 0;
		cpu->stack_wanted = 0;
	}
	if (cpu->stack_wanted < max) {
		/* A walk that gave less than was wanted has seen everything. */
		if (cpu->stack_depth >= cpu->stack_wanted)
			cpu->stack_depth = walk(c, cpu->stack, max);
		cpu->stack_wanted = max;
	}
	return min(max, cpu->stack_depth);
}

/*
 * The stack cannot be pinned, since giving it back is not for modules; but what
 * dies during the walk is freed after this RCU section only.
 */
unsigned int stapy_task_stack(struct stapy_context *c, unsigned long task,
			      const unsigned long **to, unsigned int max)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	struct task_struct *known, *wanted = (struct task_struct *)task;
	unsigned int n = 0;
	pid_t pid;

	if (wanted == current)
		return stapy_kernel_stack(c, to, max);
	*to = cpu->stack;
	cpu->stack_of = 0;
	if (in_nmi() || !stapy_stack_suffices(c) || stapy_peek_kernel(&pid, (unsigned long)&wanted->pid, sizeof(pid)))
		return 0;
	rcu_read_lock();
	known = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID);
	if (known == wanted && task_stack_page(known) && refcount_read(&known->stack_refcount))
		n = stapy_unwind(known, NULL, cpu->stack, min(max, stapy_stack_frames));
	rcu_read_unlock();
	return n;
}

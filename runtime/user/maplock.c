// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing sleeps and nothing waits: the lock of the address space is tried, and only where giving it
 * back may wake a waiter.
 */
#include "../arch/machine.h"
#include "../internal.h"

#include <linux/mmap_lock.h>

#include "maplock.h"

#define LOCK_TRIES 8

/* Threads of the kernel, and those that work for a process in it, have no registers of their own. */
bool stapy_maps_possible(void)
{
	return current->mm && !(current->flags & (PF_KTHREAD | PF_IO_WORKER));
}

/*
 * Giving the lock back may wake a waiter, which takes locks of the scheduler: this CPU holds none
 * of them where interrupts were on when the probe was hit.
 */
bool stapy_maps_lockable(struct stapy_context *c)
{
	if (!stapy_maps_possible())
		return false;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && (in_hardirq() || in_serving_softirq()))
		return false;
	if (c->user_regs)
		return true;
	if (c->regs)
		return !stapy_regs_irqs_off(c->regs);
	if (c->masked)
		return !irqs_disabled_flags(c->irq_flags);
	return !in_nmi() && !irqs_disabled();
}

bool stapy_maps_trylock(void)
{
	unsigned int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (mmap_read_trylock(current->mm))
			return true;
		cpu_relax();
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals for the current process. Sending takes the lock of its handlers, which a
 * probe may have interrupted, and which sleeps on PREEMPT_RT: an interrupt that we
 * send to ourselves (there: a thread that it wakes) does it, before user mode is
 * reached again.
 */
#include <linux/irq_work.h>

#include "internal.h"

#define WAITING 32

static void send(struct irq_work *work);

static struct pending {
	struct irq_work work;
	struct task_struct *task;	/* NULL: free */
	int number;
} waiting[WAITING] = {
	[0 ... WAITING - 1] = { .work = IRQ_WORK_INIT(send) },
};

static void send(struct irq_work *work)
{
	struct pending *p = container_of(work, struct pending, work);

	send_sig(p->number, p->task, 0);
	put_task_struct(p->task);
	smp_store_release(&p->task, NULL);
}

static void wait_for_all(void)
{
	unsigned int i;

	for (i = 0; i < WAITING; i++)
		irq_work_sync(&waiting[i].work);
}

bool stapy_raise(struct stapy_context *c, int number)
{
	unsigned int i;

	WRITE_ONCE(stapy_session.exit, wait_for_all);
	for (i = 0; i < WAITING; i++) {
		struct pending *p = &waiting[i];

		if (READ_ONCE(p->task) || cmpxchg(&p->task, NULL, current))
			continue;
		get_task_struct(current);
		p->number = number;
		irq_work_queue(&p->work);
		return true;
	}
	return stapy_error(c, NULL, "too many signals are on their way");
}

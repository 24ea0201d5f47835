// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals for the current process. Sending takes the lock of its handlers, whose
 * holder a probe may have interrupted: an interrupt that we send to ourselves does
 * it, before user mode is reached again. On PREEMPT_RT that lock sleeps, so the
 * interrupt hands it on to a thread, and the process may get on a little. A hard
 * irq_work on both, since the kernel looks at others once more after irq_work_sync().
 */
#include <linux/irq_work.h>
#include <linux/workqueue.h>

#include "internal.h"

#define WAITING 32

static void on_interrupt(struct irq_work *work);

static struct pending {
	struct irq_work irq;
	struct work_struct thread;
	struct task_struct *task;	/* NULL: free */
	int number;
} waiting[WAITING] = {
	[0 ... WAITING - 1] = { .irq = IRQ_WORK_INIT_HARD(on_interrupt) },
};

static void send(struct pending *p)
{
	send_sig(p->number, p->task, 0);
	put_task_struct(p->task);
	smp_store_release(&p->task, NULL);
}

static void on_thread(struct work_struct *work)
{
	send(container_of(work, struct pending, thread));
}

static void on_interrupt(struct irq_work *work)
{
	struct pending *p = container_of(work, struct pending, irq);

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		queue_work(system_highpri_wq, &p->thread);
	else
		send(p);
}

static void wait_for_all(void)
{
	unsigned int i;

	for (i = 0; i < WAITING; i++) {
		irq_work_sync(&waiting[i].irq);
		if (waiting[i].thread.func)
			flush_work(&waiting[i].thread);
	}
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
		INIT_WORK(&p->thread, on_thread);
		irq_work_queue(&p->irq);
		return true;
	}
	return stapy_error(c, NULL, "too many signals are on their way");
}

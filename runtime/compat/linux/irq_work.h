/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences of <linux/irq_work.h>. */
#ifndef STAPY_COMPAT_IRQ_WORK_H
#define STAPY_COMPAT_IRQ_WORK_H

/* Came with 5.11. */
#ifndef IRQ_WORK_INIT_HARD
#define IRQ_WORK_INIT_HARD(function) \
	{ .flags = ATOMIC_INIT(IRQ_WORK_HARD_IRQ), .func = (function) }
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* in_hardirq() came with 5.11: in_irq() by a name that says what it asks. */
#ifndef STAPY_COMPAT_PREEMPT_H
#define STAPY_COMPAT_PREEMPT_H

#ifndef in_hardirq
#define in_hardirq() in_irq()
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hrtimer_setup() took the place of hrtimer_init() in 6.13. */
#ifndef STAPY_COMPAT_HRTIMER_H
#define STAPY_COMPAT_HRTIMER_H

static inline void stapy_hrtimer_init(struct hrtimer *timer,
				      enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer->function = function;
#endif
}

#endif

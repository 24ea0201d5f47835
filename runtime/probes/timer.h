/* SPDX-License-Identifier: GPL-2.0-or-later */
/* timer.*: hrtimers for ns to s and hz, the kernel's timer wheel for jiffies. */
#ifndef STAPY_TIMER_H
#define STAPY_TIMER_H

struct stapy_timer_row {
	struct stapy_site site;
	u64 interval;			/* ns; jiffies when in_jiffies */
	u64 randomize;			/* +- this much, 0: none */
	u64 random;			/* state of its random numbers */
	bool in_jiffies;
	/* run-time state below */
	bool armed;
	union {
		struct hrtimer hr;
		struct timer_list wheel;
	};
};

extern const struct stapy_family stapy_timer;

#endif

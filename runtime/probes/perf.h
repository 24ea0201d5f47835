/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.* and timer.profile: a perf event on every CPU for each row. */
#ifndef STAPY_PERF_H
#define STAPY_PERF_H

#include "events.h"

struct stapy_perf_row {
	struct stapy_site site;
	u32 type;
	u64 config;
	u64 period;			/* events for a hit; 0: hz */
	u64 hz;				/* hits in a second on each CPU; 0: the kernel's own tick */
	u32 counter;			/* of @perf, which is all that asks for it; 0: it is hit */
	/* run-time state below */
	struct stapy_events events;
};

extern const struct stapy_family stapy_perf;
/* What this CPU has counted for the counter of a number. */
s64 stapy_cpu_counter(u32 number);

#endif

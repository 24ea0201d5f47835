/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a monitor asks of a session while it runs: for tapsets/core/monitor.stp. */
#ifndef STAPY_MONITOR_H
#define STAPY_MONITOR_H

struct stapy_stat;

/* The cost of a probe's hits so far, in the units of -t; false when there is no such probe. */
bool stapy_monitor_hits(unsigned int number, struct stapy_stat *sum);
/* Forget the hits of all probes. */
void stapy_monitor_reset(void);
/* Nanoseconds since the module was loaded. */
u64 stapy_monitor_age(void);
/* Hits that were skipped, whatever the reason. */
u64 stapy_monitor_skips(void);
/* Bytes of arrays, statistics, frames and output buffers. */
u64 stapy_monitor_memory(void);

#endif

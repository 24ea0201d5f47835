/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks that can be read in any context. */
#ifndef STAPY_CLOCK_H
#define STAPY_CLOCK_H

static inline s64 stapy_cycles(void)
{
	return get_cycles();
}

/* Wall clock, ns since the epoch. */
static inline s64 stapy_real_ns(void)
{
	return ktime_get_real_fast_ns();
}

/* One clock for all CPUs that never goes back. */
static inline u64 stapy_stamp(void)
{
	return ktime_get_mono_fast_ns();
}

#endif

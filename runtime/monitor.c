// SPDX-License-Identifier: GPL-2.0-or-later
/* What a monitor asks of a session while it runs. */
#include "internal.h"

bool stapy_monitor_hits(unsigned int number, struct stapy_stat *sum)
{
	static const struct stapy_stat_shape shape = { };
	const struct stapy_probe *probe = &stapy_session.probes[number];
	u64 rate = stapy_report_rate();
	int cpu;

	memset(sum, 0, sizeof(*sum));
	if (number >= stapy_session.nr_probes || !probe->cycles)
		return false;
	for_each_possible_cpu(cpu)
		stapy_stat_merge(sum, per_cpu_ptr(probe->cycles, cpu), &shape);
	sum->sum = stapy_report_units(sum->sum, rate);
	sum->min = stapy_report_units(sum->min, rate);
	sum->max = stapy_report_units(sum->max, rate);
	return true;
}

/* A hit that ends on another CPU meanwhile may be counted in part. */
static void reset(struct stapy_stat __percpu *of)
{
	int cpu;

	if (!of)
		return;
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(of, cpu), 0, sizeof(struct stapy_stat));
}

void stapy_monitor_reset(void)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_probes; i++) {
		reset(stapy_session.probes[i].cycles);
		reset(stapy_session.probes[i].entry_cycles);
	}
}

u64 stapy_monitor_age(void)
{
	return stapy_report_age();
}

u64 stapy_monitor_skips(void)
{
	return stapy_report_skipped();
}

u64 stapy_monitor_memory(void)
{
	return stapy_budget_total();
}

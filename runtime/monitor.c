// SPDX-License-Identifier: GPL-2.0-or-later
/* What a monitor asks of a session while it runs. */
#include "internal.h"
#include "probes/procfs.h"

#define PART_NS 100000			/* a part goes on for so long, and to the end of what it is at */

void stapy_monitor_begin(struct stapy_context *c)
{
	struct stapy_monitor_look *look = stapy_procfs_look(c);

	/* A hit that came in between would find the context in use, and be skipped. */
	if (!c->masked) {
		raw_local_irq_save(c->irq_flags);
		c->masked = true;
	}
	c->hasty = true;
	c->actions = INT_MAX;
	look->quiet = true;
	look->unfinished = true;
	look->until = stapy_stamp() + PART_NS;
}

bool stapy_monitor_late(struct stapy_context *c)
{
	return stapy_stamp() >= stapy_procfs_look(c)->until;
}

void stapy_monitor_go(struct stapy_context *c, s64 part)
{
	struct stapy_monitor_look *look = stapy_procfs_look(c);

	look->part = part;
	look->moved = true;
}

bool stapy_monitor_hits(unsigned int number, struct stapy_stat *sum)
{
	memset(sum, 0, sizeof(*sum));
	return number < stapy_session.nr_probes &&
	       stapy_accounts_hits(&stapy_session.probes[number], sum);
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

void stapy_monitor_reset(unsigned int number)
{
	if (number >= stapy_session.nr_probes)
		return;
	reset(stapy_session.probes[number].cycles);
	reset(stapy_session.probes[number].entry_cycles);
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

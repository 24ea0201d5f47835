// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel.data: one debug register of every CPU for each row. The CPU tells of an access
 * after it, of an instruction before it. It says nothing while such a hit is handled: the
 * kernel takes the registers out of use for that time, so a handler cannot hit its own place.
 */
#include "event.h"

static struct perf_event_attr describe(const struct stapy_watchpoint_row *row)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = row->found;
	attr.bp_len = row->length;
	attr.bp_type = row->reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	if (row->executes) {
		attr.bp_type = HW_BREAKPOINT_X;
		attr.bp_len = sizeof(long);	/* what the kernel wants to see, on x86 it means nothing */
	}
	return attr;
}

static int arm(struct stapy_watchpoint_row *row)
{
	struct perf_event_attr attr;

	if (stapy_interrupted())
		return -EINTR;
	row->found = row->symbol ? stapy_symbol_address(row->symbol) : row->address;
	if (!row->found)
		return -ENOENT;
	attr = describe(row);
	return stapy_events_arm(&row->site, &row->events, &attr);
}

static const char *reason(int error)
{
	if (error == -ENOSPC)
		return ": no debug register is free";
	if (error == -ENOENT)
		return ": the kernel has no such symbol";
	if (error == -EINVAL)
		return ": the kernel allows no breakpoint there, where exceptions or probes are handled";
	return "";
}

static void rearm(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		stapy_events_rearm(&rows[i].site, &rows[i].events);
}

static bool complete_rows(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	bool all = true;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct perf_event_attr attr = describe(&rows[i]);

		all &= stapy_events_complete(&rows[i].site, &rows[i].events, &attr);
	}
	return all;
}

static void stop(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++)
		stapy_events_disarm(&rows[i].events);
}

/* The registers are few and shared with debuggers. */
static int start(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++) {
		int r = arm(&rows[i]);

		if (r == -EINTR) {
			stop(rows, count);
			return r;
		}
		if (r)
			stapy_warn("probe %s registration error (rc %d)%s", rows[i].site.point, r,
				   reason(r));
	}
	return 0;
}

const struct stapy_family stapy_watchpoint = {
	.name = "watchpoint",
	.start = start,
	.stop = stop,
	.rearm = rearm,
	.complete = complete_rows,
};

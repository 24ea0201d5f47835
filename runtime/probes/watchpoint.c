// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel.data: one debug register of every CPU for each row. The CPU tells of an access
 * after it, of an instruction before it. It says nothing while such a hit is handled: the
 * kernel takes the registers out of use for that time, so a handler cannot hit its own place.
 */
#include "event.h"

static struct perf_event_attr describe(const void *of)
{
	const struct stapy_watchpoint_row *row = of;
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

static int locate(void *of)
{
	struct stapy_watchpoint_row *row = of;

	row->found = row->symbol ? stapy_symbol_address(row->symbol) : row->address;
	return row->found ? 0 : -ENOENT;
}

static const char *reason(int error)
{
	if (error == -ENOSPC)
		return ": no debug register is free";
	if (error == -ENOENT)
		return IS_ENABLED(CONFIG_KALLSYMS_ALL) ?
			       ": the kernel has no such symbol" :
			       ": the kernel has no such symbol: without CONFIG_KALLSYMS_ALL it knows functions only";
	if (error == -EINVAL)
		return ": the kernel allows no breakpoint there, where exceptions or probes are handled";
	return "";
}

static const struct stapy_event_rows kind = {
	.bytes = sizeof(struct stapy_watchpoint_row),
	.events = offsetof(struct stapy_watchpoint_row, events),
	.locate = locate,
	.describe = describe,
	.reason = reason,
};

static int start(void *table, unsigned int count)
{
	return stapy_event_rows_start(&kind, table, count);
}

static void stop(void *table, unsigned int count)
{
	stapy_event_rows_stop(&kind, table, count);
}

static void rearm(void *table, unsigned int count)
{
	stapy_event_rows_rearm(&kind, table, count);
}

static bool complete_rows(void *table, unsigned int count)
{
	return stapy_event_rows_complete(&kind, table, count);
}

const struct stapy_family stapy_watchpoint = {
	.name = "watchpoint",
	.start = start,
	.stop = stop,
	.rearm = rearm,
	.complete = complete_rows,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel.data: one debug register of every CPU for each row. The CPU tells of an access
 * after it, of an instruction before it. It says nothing while such a hit is handled: the
 * kernel takes the registers out of use for that time, so a handler cannot hit its own place.
 */
#include "event.h"

static int arm(struct stapy_watchpoint_row *row)
{
	struct perf_event_attr attr;
	struct perf_event * __percpu *events;

	hw_breakpoint_init(&attr);
	attr.bp_addr = row->symbol ? stapy_symbol_address(row->symbol) : row->address;
	attr.disabled = !stapy_event_wanted(&row->site, &row->armed);
	attr.bp_len = row->length;
	attr.bp_type = row->reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	if (row->executes) {
		attr.bp_type = HW_BREAKPOINT_X;
		attr.bp_len = sizeof(long);	/* what the kernel wants to see, on x86 it means nothing */
	}
	if (!attr.bp_addr)
		return -ENOENT;
	events = register_wide_hw_breakpoint(&attr, stapy_on_event, row);
	if (IS_ERR((void __force *)events))
		return PTR_ERR((void __force *)events);
	row->events = events;
	return 0;
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
		stapy_rearm_events(&rows[i].site, rows[i].events, &rows[i].armed);
}

static void stop(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!rows[i].events)
			continue;
		unregister_wide_hw_breakpoint(rows[i].events);
		rows[i].events = NULL;
	}
}

/*
 * The registers are few and shared with debuggers: what finds none free is a
 * warning as long as another row is armed.
 */
static int start(void *table, unsigned int count)
{
	struct stapy_watchpoint_row *rows = table;
	unsigned int i, armed = 0;
	int error = 0;

	for (i = 0; i < count; i++) {
		int r = arm(&rows[i]);

		if (!r)
			armed++;
		else
			stapy_warn("probe %s registration error (rc %d)%s", rows[i].site.point, r,
				   reason(r));
		if (r && !rows[i].optional && (r != -ENOSPC || !error))
			error = r;
	}
	if (!error || (error == -ENOSPC && armed))
		return 0;
	stapy_control("error", "watchpoint registration error (rc %d)", error);
	stop(rows, count);
	return error;
}

const struct stapy_family stapy_watchpoint = {
	.name = "watchpoint",
	.start = start,
	.stop = stop,
	.rearm = rearm,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* kernel.data: one debug register of every CPU for each row. */
#include "../hit.h"
#include "../compat/linux/perf_event.h"

/*
 * The CPU reports an access after it has happened, by an exception with a stack
 * of its own of two pages, and like an NMI it can come anywhere.
 */
static void on_access(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	struct stapy_watchpoint_row *row = event->overflow_handler_context;
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return;
	if (user_mode(regs))
		c->user_regs = regs;
	else
		c->regs = regs;
	c->stack_floor = stapy_small_stack_floor();
	stapy_hit_run(c, probe->handler);
	c->stack_floor = 0;
	stapy_hit_leave(c);
}

static int arm(struct stapy_watchpoint_row *row)
{
	struct perf_event_attr attr;
	struct perf_event * __percpu *events;

	hw_breakpoint_init(&attr);
	attr.bp_addr = row->symbol ? stapy_symbol_address(row->symbol) : row->address;
	attr.bp_len = row->length;
	attr.bp_type = row->reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
	if (!attr.bp_addr)
		return -ENOENT;
	events = register_wide_hw_breakpoint(&attr, on_access, row);
	if (IS_ERR((void __force *)events))
		return PTR_ERR((void __force *)events);
	row->events = events;
	return 0;
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
		else if (r == -ENOSPC)
			stapy_warn("probe %s registration error (rc %d): no debug register is free",
				   rows[i].site.point, r);
		else
			stapy_warn("probe %s registration error (rc %d)", rows[i].site.point, r);
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
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbered lines from every CPU into small rings, faster than any reader. A
 * line is 32 bytes; the end probe tells how many each CPU printed.
 */
#include "script.h"

#define LINES 40

static DEFINE_PER_CPU(s64, printed);

static void h_event(struct stapy_context *c)
{
	int i;

	for (i = 0; i < LINES; i++) {
		struct stapy_out *o = stapy_print_begin(c);

		stapy_out_text(o, "cpu ", 4);
		stapy_out_long(o, smp_processor_id(), 'd', STAPY_F_ZERO, 3, -1);
		stapy_out_text(o, " line ", 6);
		stapy_out_long(o, __this_cpu_inc_return(printed), 'd', STAPY_F_ZERO, 18, -1);
		stapy_out_text(o, "\n", 1);
		stapy_print_end(c);
	}
}

static void h_tick(struct stapy_context *c)
{
	stapy_exit();
}

static void h_end(struct stapy_context *c)
{
	int cpu;

	for_each_online_cpu(cpu)
		say(c, "total %d %lld\n", cpu, per_cpu(printed, cpu));
}

static struct stapy_probe probes[] = {
	PROBE(h_event, "kernel.trace(\"sys_enter\")"), PROBE(h_tick, "timer.s(4)"),
	PROBE(h_end, "end"),
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	{ .site = { &probes[0], "kernel.trace(\"raw_syscalls:sys_enter\")" }, .name = "sys_enter",
	  .nargs = 2 },
};

static struct stapy_timer_row timer_rows[] = {
	{ .site = { &probes[1], "timer.s(4)" }, .interval = 4 * NSEC_PER_SEC },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[2], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_tracepoint, tracepoint_rows), ROWS(stapy_timer, timer_rows),
	ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS, .maxskipped = 100, .no_overload = 1 }, TABLES,
};

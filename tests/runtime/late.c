// SPDX-License-Identifier: GPL-2.0-or-later
/* A module that comes, goes and comes again; a CPU that does the same. */
#include "script.h"

static atomic_t setups = ATOMIC_INIT(0), returns = ATOMIC_INIT(0);

static void h_setup(struct stapy_context *c)
{
	atomic_inc(&setups);
}

static void h_return(struct stapy_context *c)
{
	atomic_inc(&returns);
}

static void h_tick(struct stapy_context *c)
{
	say(c, "cpu %d\n", smp_processor_id());
}

static void h_end(struct stapy_context *c)
{
	say(c, "setups %d returns %d\n", atomic_read(&setups), atomic_read(&returns));
}

static struct stapy_probe probes[] = {
	PROBE(h_setup, "module(\"dummy\").function(\"dummy_setup\")"),
	PROBE(h_return, "module(\"dummy\").function(\"dummy_setup\").return"),
	PROBE(h_tick, "kernel.trace(\"hrtimer_expire_entry\")"), PROBE(h_end, "end"),
};

static struct stapy_kprobe_row kprobe_rows[] = {
	{ .site = { &probes[0], "module(\"dummy\").function(\"dummy_setup\")" },
	  .symbol = "dummy_setup", .module = "dummy" },
	{ .site = { &probes[1], "module(\"dummy\").function(\"dummy_setup\").return" },
	  .symbol = "dummy_setup", .module = "dummy", .is_return = true },
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	{ .site = { &probes[2], "kernel.trace(\"timer:hrtimer_expire_entry\")" },
	  .name = "hrtimer_expire_entry", .nargs = 2 },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[3], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_kprobe, kprobe_rows), ROWS(stapy_tracepoint, tracepoint_rows),
	ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS, .maxskipped = 1000000, .no_overload = 1 }, TABLES,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* Every family at once: two kprobes, a return probe with a saved value, tracepoints, timers. */
#include "script.h"

static struct stapy_lock lock;
static s64 entries, bad_stacks, returns, calls_seen, events, ticks, jiffy_ticks, absent;

struct slots {
	u64 size;
};

static const struct stapy_lock_row locks[] = { { &lock, true, "counters" } };

static void h_read(struct stapy_context *c)
{
	const unsigned long *stack;

	if (!stapy_lock(c, locks, 1))
		return;
	entries++;
	if (stapy_kernel_stack(c, &stack, 8) < 4 || stack[0] != c->address)
		bad_stacks++;
	stapy_unlock(c, locks, 1);
}

static void e_read(struct stapy_context *c)
{
	((struct slots *)c->slots)->size = regs_get_kernel_argument(c->regs, 2);
}

static void h_read_return(struct stapy_context *c)
{
	if (!stapy_lock(c, locks, 1))
		return;
	returns++;
	if (((struct slots *)c->slots)->size < (1 << 20) && c->is_return)
		calls_seen++;
	stapy_unlock(c, locks, 1);
}

static void h_event(struct stapy_context *c)
{
	if (!stapy_lock(c, locks, 1))
		return;
	if (c->args[1] < 1000)
		events++;
	stapy_unlock(c, locks, 1);
}

static void h_tick(struct stapy_context *c)
{
	if (!stapy_lock(c, locks, 1))
		return;
	if (++ticks == 50)
		stapy_exit();
	stapy_unlock(c, locks, 1);
}

static void h_jiffies(struct stapy_context *c)
{
	if (!stapy_lock(c, locks, 1))
		return;
	jiffy_ticks++;
	stapy_unlock(c, locks, 1);
}

static void h_absent(struct stapy_context *c)
{
	absent++;
}

static void h_end(struct stapy_context *c)
{
	say(c, "entries %d stacks %d returns %d values %d events %d ticks %lld jiffies %d absent %lld\n",
	    entries > 10, !bad_stacks, returns > 10, returns == calls_seen, events > 10, ticks,
	    jiffy_ticks > 5, absent);
}

static struct stapy_probe probes[] = {
	PROBE(h_read, "kernel.function(\"vfs_read\")"),
	{ .handler = h_read_return, .entry = e_read, .written = "vfs_read.return",
	  .alias = "vfs_read.return", .place = "t.stp:2:1" },
	PROBE(h_event, "kernel.trace(\"sys_enter\")"),
	PROBE(h_tick, "timer.ms(20)"),
	PROBE(h_jiffies, "timer.jiffies(2)"),
	PROBE(h_absent, "module(\"none\").function(\"f\")"),
	PROBE(h_end, "end"),
};

static struct stapy_kprobe_row kprobe_rows[] = {
	{ .site = { &probes[0], "kernel.function(\"vfs_read\")" }, .symbol = "vfs_read" },
	{ .site = { &probes[1], "kernel.function(\"vfs_read\").return" }, .symbol = "vfs_read",
	  .is_return = true, .slot_bytes = sizeof(struct slots) },
	{ .site = { &probes[0], "kernel.function(\"nowhere\")" }, .symbol = "stapy_nowhere" },
	{ .site = { &probes[5], "module(\"none\").function(\"f\")" }, .symbol = "f", .module = "none" },
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	{ .site = { &probes[2], "kernel.trace(\"raw_syscalls:sys_enter\")" }, .name = "sys_enter",
	  .nargs = 2 },
};

static struct stapy_timer_row timer_rows[] = {
	{ .site = { &probes[3], "timer.ms(20)" }, .interval = 20000000 },
	{ .site = { &probes[4], "timer.jiffies(2).randomize(1)" }, .interval = 2, .randomize = 1,
	  .in_jiffies = true },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[6], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_kprobe, kprobe_rows), ROWS(stapy_tracepoint, tracepoint_rows),
	ROWS(stapy_timer, timer_rows), ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = { .limits = { DEFAULT_LIMITS, .maxskipped = 1000000, .no_overload = 1, .timing = 1 }, TABLES };

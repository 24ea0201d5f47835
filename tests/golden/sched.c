/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_map *g_start;
static struct stapy_statvar *g_waits;

static struct stapy_storage storage[] = {
	{
		.name = "start",
		.map = &g_start,
		.value = STAPY_LONG,
		.nkeys = 1,
		.keys = { STAPY_LONG },
	},
	{
		.name = "waits",
		.stat = &g_waits,
		.value = STAPY_STAT,
		.shape.histogram = STAPY_HIST_LOG,
	},
};

/* --- locks --- */

static struct stapy_lock lock_start;
static struct stapy_lock lock_waits;

/* --- places of errors --- */

static const char at_4_8[] = "identifier '$p' at sched.stp:4:8";
static const char at_4_2[] = "identifier 'start' at sched.stp:4:2";
static const char at_8_15[] = "identifier '$next' at sched.stp:8:15";
static const char at_11_16[] = "identifier '$next' at sched.stp:11:16";
static const char at_16_6[] = "operator '@count' at sched.stp:16:6";
static const char at_17_9[] = "operator '@hist_log' at sched.stp:17:9";

/* --- functions --- */

static inline s64 f_gettimeofday_us(struct stapy_context *c);

/* function gettimeofday_us at library.stp:22:10 */
static inline s64 f_gettimeofday_us(struct stapy_context *c)
{
	return div_s64(stapy_real_ns(), NSEC_PER_USEC);
}

/* --- handlers --- */

static const struct stapy_lock_row locks_sched_wakeup[] = {
	{ &lock_start, true, "start" },
};

/*
 * probe at sched.stp:3:1:
 *   kernel.trace("sched:sched_wakeup")
 * locks: start (write)
 */
static void h_sched_wakeup(struct stapy_context *c)
{
	union stapy_key keys[1];
	s32 pid;
	s64 *slot;

	if (!stapy_lock(c, locks_sched_wakeup, ARRAY_SIZE(locks_sched_wakeup)))
		return;

	/* sched.stp:4: start[$p->pid] = gettimeofday_us() */
	if (!stapy_read_kernel(c, &pid, (s64)c->args[0] + 16 /* task_struct.pid */, sizeof(pid),
			at_4_8))
		goto out;
	keys[0].n = pid;
	slot = stapy_map_slot(c, g_start, keys, at_4_2);
	if (!slot)
		goto out;
	*slot = f_gettimeofday_us(c);
out:
	stapy_unlock(c, locks_sched_wakeup, ARRAY_SIZE(locks_sched_wakeup));
}

static const struct stapy_lock_row locks_sched_sched_switch[] = {
	{ &lock_start, true, "start" },
	{ &lock_waits, false, "waits" },
};

/*
 * probe at sched.stp:7:1:
 *   kernel.trace("sched:sched_switch")
 * locks: start (write), waits (read)
 */
static void h_sched_sched_switch(struct stapy_context *c)
{
	union stapy_key keys[1];
	s32 pid;
	s64 then = 0, start;

	if (!stapy_lock(c, locks_sched_sched_switch, ARRAY_SIZE(locks_sched_sched_switch)))
		return;

	/* sched.stp:8: then = start[$next->pid] */
	if (!stapy_read_kernel(c, &pid, (s64)c->args[2] + 16 /* task_struct.pid */, sizeof(pid),
			at_8_15))
		goto out;
	keys[0].n = pid;
	start = stapy_map_get_long(g_start, keys);
	then = start;

	/* sched.stp:9: if (then) { */
	if (then) {
		/* sched.stp:10: waits <<< gettimeofday_us() - then */
		stapy_stat_add(g_waits, f_gettimeofday_us(c) - then);

		/* sched.stp:11: delete start[$next->pid] */
		if (!stapy_read_kernel(c, &pid, (s64)c->args[2] + 16 /* task_struct.pid */,
				sizeof(pid), at_11_16))
			goto out;
		keys[0].n = pid;
		stapy_map_delete(g_start, keys);
	}
out:
	stapy_unlock(c, locks_sched_sched_switch, ARRAY_SIZE(locks_sched_sched_switch));
}

static const struct stapy_lock_row locks_end[] = {
	{ &lock_waits, true, "waits" },
};

/*
 * probe at sched.stp:15:1:
 *   end
 * locks: waits (write)
 */
static void h_end(struct stapy_context *c)
{
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 count;

	if (!stapy_lock(c, locks_end, ARRAY_SIZE(locks_end)))
		return;

	/* sched.stp:16: if (@count(waits)) */
	stat = stapy_stat_read(g_waits);
	stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_16_6);
	if (count) {
		/* sched.stp:17: print(@hist_log(waits)) */
		out = stapy_print_begin(c);
		stat = stapy_stat_read(g_waits);
		if (!stapy_out_histogram(c, out, stat, &storage[1].shape, at_17_9))
			goto out;
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end, ARRAY_SIZE(locks_end));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_sched_wakeup,
		.written = "kernel.trace(\"sched_wakeup\")",
		.alias = "kernel.trace(\"sched_wakeup\")",
		.place = "sched.stp:3:1",
	},
	[1] = {
		.handler = h_sched_sched_switch,
		.written = "kernel.trace(\"sched:sched_switch\")",
		.alias = "kernel.trace(\"sched:sched_switch\")",
		.place = "sched.stp:7:1",
	},
	[2] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = "sched.stp:15:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* end */
	{
		.site = { &probes[2], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	/* kernel.trace("sched:sched_wakeup") */
	{
		.site = { &probes[0], "kernel.trace(\"sched:sched_wakeup\")" },
		.name = "sched_wakeup",
		.nargs = 1,
	},
	/* kernel.trace("sched:sched_switch") */
	{
		.site = { &probes[1], "kernel.trace(\"sched:sched_switch\")" },
		.name = "sched_switch",
		.nargs = 3,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_tracepoint, tracepoint_rows, ARRAY_SIZE(tracepoint_rows) },
};

struct stapy_session stapy_session = {
	.name = "sched",
	.script = "sched.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 0,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conditions.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_on = 1;
static s64 g_bound = 10;
static char g_name[MAXSTRINGLEN];

/* --- arrays and statistics --- */

static struct stapy_map *g_seen;
static struct stapy_statvar *g_times;

static struct stapy_storage storage[] = {
	{
		.name = "seen",
		.map = &g_seen,
		.value = STAPY_LONG,
		.nkeys = 1,
		.keys = { STAPY_STRING },
		.key_bytes = { 8 },
	},
	{
		.name = "times",
		.stat = &g_times,
		.value = STAPY_STAT,
	},
};

/* --- locks --- */

static struct stapy_lock lock_on;
static struct stapy_lock lock_bound;
static struct stapy_lock lock_seen;
static struct stapy_lock lock_times;
static struct stapy_lock lock_name;

/* --- places of errors --- */

static const char at_8_3[] = "identifier 'seen' at conditions.stp:8:3";
static const char at_14_39[] = "operator '@count' at conditions.stp:14:39";

/* --- arming conditions --- */

/* if (on && bound / on > 2) */
static bool condition_0(struct stapy_context *c)
{
	s64 quotient, both;

	both = g_on != 0;
	if (both) {
		if (!stapy_try_divide(g_bound, g_on, &quotient))
			goto out;
		both = quotient > 2;
	}
	return both != 0;
out:
	return false;
}

/* if ("x" in seen && @count(times) > 3 && name . "y" != "xxy") */
static bool condition_1(struct stapy_context *c)
{
	struct {
		char text[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[1];
	const struct stapy_stat *stat;
	s64 found, count, both, both_2;

	keys[0].s = "x";
	found = stapy_map_has(g_seen, keys);
	both = found != 0;
	if (both) {
		stat = stapy_stat_read(g_times);
		stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_14_39);
		both = count > 3;
	}
	both_2 = both != 0;
	if (both_2) {
		stapy_concat(l->text, g_name, "y", sizeof(l->text));
		both_2 = stapy_compare(l->text, "xxy") != 0;
	}
	return both_2 != 0;
}

static struct stapy_condition conditions[] = {
	{ .test = condition_0 },
	{ .test = condition_1 },
};

/* --- handlers --- */

static const struct stapy_lock_row locks_timer_s_1[] = {
	{ &lock_bound, false, "bound" },
	{ &lock_on, true, "on" },
};

/*
 * probe at conditions.stp:3:1:
 *   timer.s(1)
 * locks: bound (read), on (write)
 */
static void h_timer_s_1(struct stapy_context *c)
{
	if (!stapy_lock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1)))
		return;

	/* conditions.stp:3: probe timer.s(1) { on = !on } */
	g_on = !g_on;
	stapy_judge(c, &conditions[0]);
	stapy_unlock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1));
}

static const struct stapy_lock_row locks_vfs_read[] = {
	{ &lock_bound, true, "bound" },
	{ &lock_on, false, "on" },
};

/*
 * probe at conditions.stp:4:1:
 *   kernel.function("vfs_read")
 * locks: bound (write), on (read)
 */
static void h_vfs_read(struct stapy_context *c)
{
	if (!stapy_lock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read)))
		return;
	if (stapy_is_off(c->site->probe)) {
		stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
		return;
	}

	/* conditions.stp:4: probe kernel.function("vfs_read") if (on && bound / on > 2) { bound... */
	g_bound--;
	stapy_judge(c, &conditions[0]);
	stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
}

static const struct stapy_lock_row locks_sched_switch[] = {
	{ &lock_bound, false, "bound" },
	{ &lock_name, false, "name" },
	{ &lock_seen, false, "seen" },
	{ &lock_times, true, "times" },
};

/*
 * probe at conditions.stp:5:1:
 *   kernel.trace("sched:sched_switch")
 * locks: bound (read), name (read), seen (read), times (write)
 */
static void h_sched_switch(struct stapy_context *c)
{
	if (!stapy_lock(c, locks_sched_switch, ARRAY_SIZE(locks_sched_switch)))
		return;
	if (stapy_is_off(c->site->probe)) {
		stapy_unlock(c, locks_sched_switch, ARRAY_SIZE(locks_sched_switch));
		return;
	}

	/* conditions.stp:5: probe kernel.trace("sched_switch") if (on && bound / on > 2) { time... */
	stapy_stat_add(g_times, g_bound);
	stapy_judge(c, &conditions[1]);
	stapy_unlock(c, locks_sched_switch, ARRAY_SIZE(locks_sched_switch));
}

static const struct stapy_lock_row locks_timer_ms_300[] = {
	{ &lock_bound, false, "bound" },
	{ &lock_name, true, "name" },
	{ &lock_seen, true, "seen" },
	{ &lock_times, true, "times" },
};

/*
 * probe at conditions.stp:6:1:
 *   timer.ms(300)
 * locks: bound (read), name (write), seen (write), times (write)
 */
static void h_timer_ms_300(struct stapy_context *c)
{
	union stapy_key keys[1];
	s64 *slot;

	if (!stapy_lock(c, locks_timer_ms_300, ARRAY_SIZE(locks_timer_ms_300)))
		return;

	/* conditions.stp:7: if (bound) { */
	if (g_bound) {
		/* conditions.stp:8: seen["x"]++ */
		keys[0].s = "x";
		slot = stapy_map_slot(c, g_seen, keys, at_8_3);
		if (!slot)
			goto out;
		(*slot)++;

		/* conditions.stp:9: name = name . "x" */
		stapy_concat(g_name, g_name, "x", sizeof(g_name));
	} else {
		/* conditions.stp:11: next */
		goto out;
	}
out:
	stapy_judge(c, &conditions[1]);
	stapy_unlock(c, locks_timer_ms_300, ARRAY_SIZE(locks_timer_ms_300));
}

static const struct stapy_lock_row locks_timer_hz_10[] = {
	{ &lock_seen, false, "seen" },
};

/*
 * probe at conditions.stp:14:1:
 *   timer.hz(10)
 * locks: seen (read)
 */
static void h_timer_hz_10(struct stapy_context *c)
{
	union stapy_key keys[1];
	struct stapy_out *out;
	s64 seen;

	if (!stapy_lock(c, locks_timer_hz_10, ARRAY_SIZE(locks_timer_hz_10)))
		return;
	if (stapy_is_off(c->site->probe)) {
		stapy_unlock(c, locks_timer_hz_10, ARRAY_SIZE(locks_timer_hz_10));
		return;
	}

	/* conditions.stp:15: printf("%d\n", seen["x"]) */
	keys[0].s = "x";
	seen = stapy_map_get_long(g_seen, keys);
	out = stapy_print_begin(c);
	stapy_out_long(out, seen, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
	stapy_unlock(c, locks_timer_hz_10, ARRAY_SIZE(locks_timer_hz_10));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_timer_s_1,
		.written = "timer.s(1)",
		.alias = "timer.s(1)",
		.place = "conditions.stp:3:1",
	},
	[1] = {
		.handler = h_vfs_read,
		.condition = &conditions[0],
		.written = "kernel.function(\"vfs_read\") if (on && bound / on > 2)",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "conditions.stp:4:1",
	},
	[2] = {
		.handler = h_sched_switch,
		.condition = &conditions[0],
		.written = "kernel.trace(\"sched_switch\") if (on && bound / on > 2)",
		.alias = "kernel.trace(\"sched_switch\")",
		.place = "conditions.stp:5:1",
	},
	[3] = {
		.handler = h_timer_ms_300,
		.written = "timer.ms(300)",
		.alias = "timer.ms(300)",
		.place = "conditions.stp:6:1",
	},
	[4] = {
		.handler = h_timer_hz_10,
		.condition = &conditions[1],
		.written = "timer.hz(10) if (\"x\" in seen && @count(times) > 3 && name . \"y\" != \"xxy\")",
		.alias = "timer.hz(10)",
		.place = "conditions.stp:14:1",
	},
};

static struct stapy_timer_row timer_rows[] = {
	/* timer.s(1) */
	{
		.site = { &probes[0], "timer.s(1)" },
		.interval = 1000000000,
	},
	/* timer.ms(300) */
	{
		.site = { &probes[3], "timer.ms(300)" },
		.interval = 300000000,
	},
	/* timer.hz(10) */
	{
		.site = { &probes[4], "timer.hz(10)" },
		.interval = 100000000,
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read") */
	{
		.site = { &probes[1], "kernel.function(\"vfs_read\")" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	/* kernel.trace("sched:sched_switch") */
	{
		.site = { &probes[2], "kernel.trace(\"sched:sched_switch\")" },
		.name = "sched_switch",
		.nargs = 3,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_conditions, conditions, ARRAY_SIZE(conditions) },
	{ &stapy_timer, timer_rows, ARRAY_SIZE(timer_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
	{ &stapy_tracepoint, tracepoint_rows, ARRAY_SIZE(tracepoint_rows) },
	{ &stapy_arming, conditions, ARRAY_SIZE(conditions) },
};

struct stapy_session stapy_session = {
	.name = "conditions",
	.script = "conditions.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 512,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conditions.stp, translated by stapy 0.1.0 */
#include "stapy.h"

/* --- limits --- */

#define MAXSTRINGLEN 512
#define MAXACTION 1000
#define MAXACTION_INTERRUPTIBLE (MAXACTION * 10)
#define MAXERRORS 0
#define MAXSKIPPED 100
#define MAXTRYLOCK 100
#define TRYLOCKDELAY 10
#define MINSTACKSPACE 1024
#define MAXMAPENTRIES 2048
#define MAXBACKTRACE 20
#define INTERRUPTIBLE 1
#define STP_OVERLOAD_THRESHOLD 500000000
#define STP_OVERLOAD_INTERVAL 1000000000
#define MAXNESTING 1

/* --- globals --- */

static s64 g_on = 1;
static s64 g_bound = 10;

/* --- locks --- */

static struct stapy_lock lock_on;
static struct stapy_lock lock_bound;

/* --- handlers --- */

static const struct stapy_lock_row locks_timer_s_1[] = {
	{ &lock_on, true, "on" },
};

/*
 * probe at conditions.stp:3:1:
 *   timer.s(1)
 * locks: on (write)
 */
static void h_timer_s_1(struct stapy_context *c)
{
	if (!stapy_lock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1)))
		return;

	/* conditions.stp:3: probe timer.s(1) { on = !on } */
	g_on = !g_on;
	stapy_unlock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1));
}

static const struct stapy_lock_row locks_vfs_read[] = {
	{ &lock_bound, true, "bound" },
};

/*
 * probe at conditions.stp:4:1:
 *   kernel.function("vfs_read")
 * locks: bound (write)
 */
static void h_vfs_read(struct stapy_context *c)
{
	if (!stapy_lock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read)))
		return;

	/* conditions.stp:4: probe kernel.function("vfs_read") if (on && bound / on > 2) { bound... */
	g_bound--;
	stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
}

/* --- arming conditions --- */

/* if (on && bound / on > 2) */
static bool condition_1(void)
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
		.condition = condition_1,
		.written = "kernel.function(\"vfs_read\") if (on && bound / on > 2)",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "conditions.stp:4:1",
	},
};

static struct stapy_timer_row timer_rows[] = {
	/* timer.s(1) */
	{
		.site = { &probes[0], "timer.s(1)" },
		.interval = 1000000000,
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

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_timer, timer_rows, ARRAY_SIZE(timer_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "conditions",
	.script = "conditions.stp",
	.limits = {
		.maxstringlen = MAXSTRINGLEN,
		.maxaction = MAXACTION,
		.maxaction_interruptible = MAXACTION_INTERRUPTIBLE,
		.maxerrors = MAXERRORS,
		.maxskipped = MAXSKIPPED,
		.maxtrylock = MAXTRYLOCK,
		.trylockdelay = TRYLOCKDELAY,
		.minstackspace = MINSTACKSPACE,
		.maxmapentries = MAXMAPENTRIES,
		.interruptible = INTERRUPTIBLE,
		.overload_threshold = STP_OVERLOAD_THRESHOLD,
		.overload_interval = STP_OVERLOAD_INTERVAL,
		.maxnesting = MAXNESTING,
		.buffer_bytes = 2097152,
	},
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

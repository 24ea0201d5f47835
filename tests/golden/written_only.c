/* SPDX-License-Identifier: GPL-2.0-or-later */
/* written_only.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_n;
static char g_s[MAXSTRINGLEN];

/* --- arrays and statistics --- */

static struct stapy_map *g_table;
static struct stapy_statvar *g_spread;

static struct stapy_storage storage[] = {
	{
		.name = "table",
		.map = &g_table,
		.value = STAPY_LONG,
		.nkeys = 1,
		.keys = { STAPY_LONG },
	},
	{
		.name = "spread",
		.stat = &g_spread,
		.value = STAPY_STAT,
	},
};

/* --- locks --- */

static struct stapy_lock lock_n;
static struct stapy_lock lock_s;
static struct stapy_lock lock_table;
static struct stapy_lock lock_spread;

/* --- places of errors --- */

static const char at_6_2[] = "identifier 'table' at written_only.stp:6:2";

/* --- functions --- */

static inline s64 f_pid(struct stapy_context *c);

/* function pid at library.stp:14:10 */
static inline s64 f_pid(struct stapy_context *c) { return current->tgid; }

/* --- handlers --- */

static const struct stapy_lock_row locks_vfs_read[] = {
	{ &lock_n, true, "n" },
	{ &lock_s, true, "s" },
	{ &lock_spread, false, "spread" },
	{ &lock_table, true, "table" },
};

/*
 * probe at written_only.stp:3:1:
 *   kernel.function("vfs_read")
 * locks: n (write), s (write), spread (read), table (write)
 */
static void h_vfs_read(struct stapy_context *c)
{
	union stapy_key keys[1];
	s64 *slot;

	if (!stapy_lock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read)))
		return;

	/* written_only.stp:4: n++ */
	g_n++;

	/* written_only.stp:5: s = "last" */
	stapy_copy(g_s, "last", sizeof(g_s));

	/* written_only.stp:6: table[pid()]++ */
	keys[0].n = f_pid(c);
	slot = stapy_map_slot(c, g_table, keys, at_6_2);
	if (!slot)
		goto out;
	(*slot)++;

	/* written_only.stp:7: spread <<< $count */
	stapy_stat_add(g_spread, (s64)c->regs->dx);
out:
	stapy_unlock(c, locks_vfs_read, ARRAY_SIZE(locks_vfs_read));
}

static const struct stapy_lock_row locks_end[] = {
	{ &lock_n, false, "n" },
};

/*
 *   end
 * locks: n (read)
 */
static void h_end(struct stapy_context *c)
{
	struct stapy_out *out;

	if (!stapy_lock(c, locks_end, ARRAY_SIZE(locks_end)))
		return;

	out = stapy_print_begin(c);
	stapy_out_text(out, "n=", 2);
	stapy_out_long(out, g_n, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
	stapy_unlock(c, locks_end, ARRAY_SIZE(locks_end));
}

static const struct stapy_lock_row locks_end_2[] = {
	{ &lock_s, false, "s" },
};

/*
 *   end
 * locks: s (read)
 */
static void h_end_2(struct stapy_context *c)
{
	struct stapy_out *out;

	if (!stapy_lock(c, locks_end_2, ARRAY_SIZE(locks_end_2)))
		return;

	out = stapy_print_begin(c);
	stapy_out_text(out, "s=\"", 3);
	stapy_out_string(out, g_s, 0, 0, -1);
	stapy_out_text(out, "\"\n", 2);
	stapy_print_end(c);
	stapy_unlock(c, locks_end_2, ARRAY_SIZE(locks_end_2));
}

static const struct stapy_lock_row locks_end_3[] = {
	{ &lock_table, true, "table" },
};

/*
 *   end
 * locks: table (write)
 */
static void h_end_3(struct stapy_context *c)
{
	struct stapy_bar bar = { NULL };
	struct stapy_iter iter;
	struct stapy_out *out;
	s64 idx0 = 0, val = 0;

	if (!stapy_lock(c, locks_end_3, ARRAY_SIZE(locks_end_3)))
		return;

	if (!stapy_act(c, 1, NULL))
		goto out;
	stapy_iter_start(&iter, g_table, 1, 0, true, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		idx0 = stapy_iter_key_long(&iter, 0);
		val = stapy_iter_long(&iter);
		if (!stapy_act(c, 2, NULL))
			goto out;
		out = stapy_print_begin(c);
		bar.line = out->at;
		stapy_out_text(out, "table[", 6);
		stapy_out_long(out, idx0, 'd', 0, 0, -1);
		stapy_out_text(out, "]=", 2);
		stapy_out_long(out, val, 'd', 0, 0, -1);
		stapy_out_bar(c, out, &bar, val);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end_3, ARRAY_SIZE(locks_end_3));
}

static const struct stapy_lock_row locks_end_4[] = {
	{ &lock_spread, true, "spread" },
};

/*
 *   end
 * locks: spread (write)
 */
static void h_end_4(struct stapy_context *c)
{
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 count, min, max, sum, avg;

	if (!stapy_lock(c, locks_end_4, ARRAY_SIZE(locks_end_4)))
		return;

	stat = stapy_stat_read(g_spread);
	stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, NULL);
	if (count == 0) {
		out = stapy_print_begin(c);
		stapy_out_text(out, "spread @count=0x0\n", 18);
		stapy_print_end(c);
	} else {
		stat = stapy_stat_read(g_spread);
		stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, NULL);
		if (!stapy_stat_value(c, stat, STAPY_MIN, 0, &min, NULL))
			goto out;
		if (!stapy_stat_value(c, stat, STAPY_MAX, 0, &max, NULL))
			goto out;
		stapy_stat_value(c, stat, STAPY_SUM, 0, &sum, NULL);
		if (!stapy_stat_value(c, stat, STAPY_AVG, 0, &avg, NULL))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_text(out, "spread @count=", 14);
		stapy_out_long(out, count, 'd', 0, 0, -1);
		stapy_out_text(out, " @min=", 6);
		stapy_out_long(out, min, 'd', 0, 0, -1);
		stapy_out_text(out, " @max=", 6);
		stapy_out_long(out, max, 'd', 0, 0, -1);
		stapy_out_text(out, " @sum=", 6);
		stapy_out_long(out, sum, 'd', 0, 0, -1);
		stapy_out_text(out, " @avg=", 6);
		stapy_out_long(out, avg, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end_4, ARRAY_SIZE(locks_end_4));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "written_only.stp:3:1",
	},
	[1] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[2] = {
		.handler = h_end_2,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[3] = {
		.handler = h_end_3,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[4] = {
		.handler = h_end_4,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* end */
	{
		.site = { &probes[1], "end" },
		.phase = STAPY_END,
	},
	/* end */
	{
		.site = { &probes[2], "end" },
		.phase = STAPY_END,
	},
	/* end */
	{
		.site = { &probes[3], "end" },
		.phase = STAPY_END,
	},
	/* end */
	{
		.site = { &probes[4], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read") */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\")" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "written_only",
	.script = "written_only.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 0,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* latency.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- types --- */

struct slots_n {
	s64 s0;
};

/* --- arrays and statistics --- */

static struct stapy_map *g_times;

static struct stapy_storage storage[] = {
	{
		.name = "times",
		.map = &g_times,
		.value = STAPY_STAT,
		.nkeys = 1,
		.keys = { STAPY_STRING },
	},
};

/* --- locks --- */

static struct stapy_lock lock_times;

/* --- places of errors --- */

static const char at_7_3[] = "identifier 'times' at latency.stp:7:3";
static const char at_11_2[] = "keyword at latency.stp:11:2";
static const char at_12_3[] = "identifier 'printf' at latency.stp:12:3";
static const char at_12_39[] = "operator '@count' at latency.stp:12:39";
static const char at_13_10[] = "operator '@avg' at latency.stp:13:10";
static const char at_13_29[] = "operator '@max' at latency.stp:13:29";

/* --- functions --- */

static inline s64 f_gettimeofday_us(struct stapy_context *c);
static void f_execname(struct stapy_context *c, char *ret);

/* function gettimeofday_us at library.stp:22:10 */
static inline s64 f_gettimeofday_us(struct stapy_context *c)
{
	return div_s64(stapy_real_ns(), NSEC_PER_USEC);
}

/* function execname at library.stp:10:10 */
static void f_execname(struct stapy_context *c, char *ret)
{
	ret[0] = '\0';
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 10 "library.stp"
 /* pure */ /* stable */
	stapy_copy(STAP_RETVALUE, current->comm, MAXSTRINGLEN);
#line 63 "latency.c"
	}
#undef STAP_RETVALUE
}

/* --- handlers --- */

static const struct stapy_lock_row locks_vfs_read_return[] = {
	{ &lock_times, false, "times" },
};

/*
 * probe at latency.stp:4:1:
 *   kernel.function("vfs_read").return
 * locks: times (read)
 */
static void h_vfs_read_return(struct stapy_context *c)
{
	struct {
		char text[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[1];
	s64 spent = 0;

	/* latency.stp:5: spent = gettimeofday_us() - @entry(gettimeofday_us()) */
	spent = f_gettimeofday_us(c) - ((struct slots_n *)c->slots)->s0;

	/* latency.stp:6: if ($return > 0) */
	if ((s64)c->regs->ax > 0) {
		if (!stapy_lock(c, locks_vfs_read_return, ARRAY_SIZE(locks_vfs_read_return)))
			return;

		/* latency.stp:7: times[execname()] <<< spent */
		f_execname(c, l->text);
		keys[0].s = l->text;
		stapy_map_add(c, g_times, keys, spent, at_7_3);
		stapy_unlock(c, locks_vfs_read_return, ARRAY_SIZE(locks_vfs_read_return));
	}
}

/*
 * probe at latency.stp:4:1:
 *   kernel.function("vfs_read").return
 */
static void h_vfs_read_return_entry(struct stapy_context *c)
{
	/* latency.stp:5: spent = gettimeofday_us() - @entry(gettimeofday_us()) */
	((struct slots_n *)c->slots)->s0 = f_gettimeofday_us(c);
}

static const struct stapy_lock_row locks_end[] = {
	{ &lock_times, true, "times" },
};

/*
 * probe at latency.stp:10:1:
 *   end
 * locks: times (write)
 */
static void h_end(struct stapy_context *c)
{
	struct {
		char name[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[1];
	struct stapy_iter iter;
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 count, avg, max;

	l->name[0] = '\0';
	if (!stapy_lock(c, locks_end, ARRAY_SIZE(locks_end)))
		return;

	/* latency.stp:11: foreach (name in times- limit 10) */
	if (!stapy_act(c, 1, at_11_2))
		goto out;
	stapy_iter_start(&iter, g_times, 1, STAPY_COUNT, true, 10, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		stapy_copy(l->name, stapy_iter_key_string(&iter, 0), sizeof(l->name));

		/* latency.stp:12: printf("%-16s %8d %8d %8d\n", name, @count(times[name]), */
		if (!stapy_act(c, 2, at_12_3))
			goto out;
		keys[0].s = l->name;
		stat = stapy_map_stat(g_times, keys);
		stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_12_39);
		if (!stapy_stat_value(c, stat, STAPY_AVG, 0, &avg, at_13_10))
			goto out;
		if (!stapy_stat_value(c, stat, STAPY_MAX, 0, &max, at_13_29))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_string(out, l->name, STAPY_F_LEFT, 16, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, count, 'd', 0, 8, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, avg, 'd', 0, 8, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, max, 'd', 0, 8, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end, ARRAY_SIZE(locks_end));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read_return,
		.entry = h_vfs_read_return_entry,
		.written = "kernel.function(\"vfs_read\").return",
		.alias = "kernel.function(\"vfs_read\").return",
		.place = "latency.stp:4:1",
	},
	[1] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = "latency.stp:10:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* end */
	{
		.site = { &probes[1], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read").return */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\").return" },
		.symbol = "vfs_read",
		.is_return = true,
		.slot_bytes = sizeof(struct slots_n),
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "latency",
	.script = "latency.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 512,
};

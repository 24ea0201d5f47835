/* SPDX-License-Identifier: GPL-2.0-or-later */
/* statistics.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_statvar *g_x;
static struct stapy_map *g_y;

static struct stapy_storage storage[] = {
	{
		.name = "x",
		.stat = &g_x,
		.value = STAPY_STAT,
		.shape.variance = 1,
		.shape.shift = 4,
		.shape.histogram = STAPY_HIST_LINEAR,
		.shape.low = 0,
		.shape.high = 1000,
		.shape.step = 100,
	},
	{
		.name = "y",
		.map = &g_y,
		.value = STAPY_STAT,
		.nkeys = 1,
		.keys = { STAPY_LONG },
		.shape.histogram = STAPY_HIST_LOG,
	},
};

/* --- locks --- */

static struct stapy_lock lock_x;
static struct stapy_lock lock_y;

/* --- places of errors --- */

static const char at_5_2[] = "identifier 'y' at statistics.stp:5:2";
static const char at_9_2[] = "keyword at statistics.stp:9:2";
static const char at_9_7[] = "operator '@count' at statistics.stp:9:7";
static const char at_10_2[] = "identifier 'printf' at statistics.stp:10:2";
static const char at_10_32[] = "operator '@count' at statistics.stp:10:32";
static const char at_10_43[] = "operator '@sum' at statistics.stp:10:43";
static const char at_10_52[] = "operator '@min' at statistics.stp:10:52";
static const char at_10_61[] = "operator '@max' at statistics.stp:10:61";
static const char at_10_70[] = "operator '@avg' at statistics.stp:10:70";
static const char at_11_9[] = "operator '@variance' at statistics.stp:11:9";
static const char at_12_8[] = "operator '@hist_linear' at statistics.stp:12:8";
static const char at_14_3[] = "identifier 'print' at statistics.stp:14:3";
static const char at_14_9[] = "operator '@hist_log' at statistics.stp:14:9";
static const char at_15_2[] = "keyword at statistics.stp:15:2";
static const char at_16_3[] = "keyword at statistics.stp:16:3";
static const char at_16_7[] = "operator '@hist_linear' at statistics.stp:16:7";
static const char at_16_50[] = "identifier 'println' at statistics.stp:16:50";

/* --- functions --- */

static inline s64 f_gettimeofday_us(struct stapy_context *c);
static inline s64 f_pid(struct stapy_context *c);

/* function gettimeofday_us at library.stp:22:10 */
static inline s64 f_gettimeofday_us(struct stapy_context *c)
{
	return div_s64(stapy_real_ns(), NSEC_PER_USEC);
}

/* function pid at library.stp:14:10 */
static inline s64 f_pid(struct stapy_context *c) { return current->tgid; }

/* --- handlers --- */

static const struct stapy_lock_row locks_timer_ms_10[] = {
	{ &lock_x, false, "x" },
	{ &lock_y, false, "y" },
};

/*
 * probe at statistics.stp:3:1:
 *   timer.ms(10)
 * locks: x (read), y (read)
 */
static void h_timer_ms_10(struct stapy_context *c)
{
	union stapy_key keys[1];

	if (!stapy_lock(c, locks_timer_ms_10, ARRAY_SIZE(locks_timer_ms_10)))
		return;

	/* statistics.stp:4: x <<< gettimeofday_us() % 1000 */
	stapy_stat_add(g_x, f_gettimeofday_us(c) % 1000);

	/* statistics.stp:5: y[pid()] <<< 1 */
	keys[0].n = f_pid(c);
	stapy_map_add(c, g_y, keys, 1, at_5_2);
	stapy_unlock(c, locks_timer_ms_10, ARRAY_SIZE(locks_timer_ms_10));
}

static const struct stapy_lock_row locks_end[] = {
	{ &lock_x, true, "x" },
	{ &lock_y, true, "y" },
};

/*
 * probe at statistics.stp:8:1:
 *   end
 * locks: x (write), y (write)
 */
static void h_end(struct stapy_context *c)
{
	union stapy_key keys[1];
	struct stapy_iter iter;
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 id = 0, bucket = 0, count, sum, min, max, avg, variance, number, bucket_2;

	if (!stapy_lock(c, locks_end, ARRAY_SIZE(locks_end)))
		return;

	/* statistics.stp:9: if (!@count(x)) next */
	if (!stapy_act(c, 1, at_9_2))
		goto out;
	stat = stapy_stat_read(g_x);
	stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_9_7);
	if (!count)
		goto out;

	/* statistics.stp:10: printf("%d %d %d %d %d %d\n", @count(x), @sum(x), @min(x), @max(x)... */
	if (!stapy_act(c, 3, at_10_2))
		goto out;
	stat = stapy_stat_read(g_x);
	stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_10_32);
	stapy_stat_value(c, stat, STAPY_SUM, 0, &sum, at_10_43);
	if (!stapy_stat_value(c, stat, STAPY_MIN, 0, &min, at_10_52))
		goto out;
	if (!stapy_stat_value(c, stat, STAPY_MAX, 0, &max, at_10_61))
		goto out;
	if (!stapy_stat_value(c, stat, STAPY_AVG, 0, &avg, at_10_70))
		goto out;
	if (!stapy_stat_value(c, stat, STAPY_VARIANCE, 4, &variance, at_11_9))
		goto out;
	out = stapy_print_begin(c);
	stapy_out_long(out, count, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, sum, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, min, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, max, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, avg, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, variance, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* statistics.stp:12: print(@hist_linear(x, 0, 1000, 100)) */
	out = stapy_print_begin(c);
	stat = stapy_stat_read(g_x);
	if (!stapy_out_histogram(c, out, stat, &storage[0].shape, at_12_8))
		goto out;
	stapy_print_end(c);

	/* statistics.stp:13: foreach (id in y) */
	stapy_iter_start(&iter, g_y, 0, STAPY_COUNT, false, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		id = stapy_iter_key_long(&iter, 0);

		/* statistics.stp:14: print(@hist_log(y[id])) */
		if (!stapy_act(c, 2, at_14_3))
			goto out;
		out = stapy_print_begin(c);
		keys[0].n = id;
		stat = stapy_map_stat(g_y, keys);
		if (!stapy_out_histogram(c, out, stat, &storage[1].shape, at_14_9))
			goto out;
		stapy_print_end(c);
	}

	/* statistics.stp:15: foreach (bucket in @hist_linear(x, 0, 1000, 100)) */
	if (!stapy_act(c, 1, at_15_2))
		goto out;
	for (number = 0; number < stapy_stat_buckets(&storage[0].shape); number++) {
		bucket = stapy_stat_bucket_low(&storage[0].shape, number);

		/* statistics.stp:16: if (@hist_linear(x, 0, 1000, 100)[bucket] > 5) println(bucket) */
		if (!stapy_act(c, 2, at_16_3))
			goto out;
		stat = stapy_stat_read(g_x);
		if (!stapy_stat_bucket(c, stat, &storage[0].shape, bucket, &bucket_2, at_16_7))
			goto out;
		if (bucket_2 > 5) {
			if (!stapy_act(c, 1, at_16_50))
				goto out;
			out = stapy_print_begin(c);
			stapy_out_long(out, bucket, 'd', 0, 0, -1);
			stapy_out_text(out, "\n", 1);
			stapy_print_end(c);
		}
	}
out:
	stapy_unlock(c, locks_end, ARRAY_SIZE(locks_end));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_timer_ms_10,
		.written = "timer.ms(10)",
		.alias = "timer.ms(10)",
		.place = "statistics.stp:3:1",
	},
	[1] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = "statistics.stp:8:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* end */
	{
		.site = { &probes[1], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_timer_row timer_rows[] = {
	/* timer.ms(10) */
	{
		.site = { &probes[0], "timer.ms(10)" },
		.interval = 10000000,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_timer, timer_rows, ARRAY_SIZE(timer_rows) },
};

struct stapy_session stapy_session = {
	.name = "statistics",
	.script = "statistics.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 0,
};

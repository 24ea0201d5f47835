/* SPDX-License-Identifier: GPL-2.0-or-later */
/* records.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_hits;
static char g_last[MAXSTRINGLEN];

/* --- arrays and statistics --- */

static struct stapy_map *g_sizes;

static struct stapy_storage storage[] = {
	{
		.name = "sizes",
		.map = &g_sizes,
		.value = STAPY_STAT,
		.nkeys = 2,
		.keys = { STAPY_LONG, STAPY_STRING },
		.key_bytes = { 0, 8 },
		.shape.histogram = STAPY_HIST_LINEAR,
		.shape.low = 0,
		.shape.high = 100,
		.shape.step = 10,
	},
};

/* --- locks --- */

static struct stapy_lock lock_hits;
static struct stapy_lock lock_sizes;
static struct stapy_lock lock_last;

/* --- places of errors --- */

static const char at_9_23[] = "identifier 'hits' at records.stp:9:23";
static const char at_9_29[] = "identifier 'hits' at records.stp:9:29";
static const char at_14_3[] = "identifier 'sizes' at records.stp:14:3";
static const char at_16_9[] = "operator '@hist_linear' at records.stp:16:9";

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_hits, false, "hits" },
};

/*
 * probe at records.stp:5:1:
 *   begin
 * locks: hits (read)
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char s[32];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out sink, *out;

	l->s[0] = '\0';

	/* records.stp:6: s = sprintf("%d", 3) */
	stapy_out_to(&sink, l->s, sizeof(l->s));
	stapy_out_text(&sink, "3", 1);
	stapy_out_finish(&sink);

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* records.stp:7: printf("%s read %5d of %x at %*d%%, latency=%d %c", s, hits, 255, 4, 5... */
	out = stapy_typed_begin(c, 0);
	stapy_typed_string(out, l->s);
	stapy_typed_long(out, g_hits);
	stapy_typed_long(out, 255);
	stapy_typed_long(out, 50);
	stapy_typed_long(out, g_hits / 2);
	stapy_typed_long(out, 65);
	stapy_out_string(out, l->s, 0, 0, -1);
	stapy_out_text(out, " read ", 6);
	stapy_out_long(out, g_hits, 'd', 0, 5, -1);
	stapy_out_text(out, " of ", 4);
	stapy_out_long(out, 255, 'x', 0, 0, -1);
	stapy_out_text(out, " at ", 4);
	stapy_out_long(out, 50, 'd', 0, 4, -1);
	stapy_out_text(out, "%, latency=", 11);
	stapy_out_long(out, g_hits / 2, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_char(out, 65, 0, 0);
	stapy_print_end(c);

	/* records.stp:8: println("plain", hits) */
	out = stapy_typed_begin(c, 1);
	stapy_typed_string(out, "plain");
	stapy_typed_long(out, g_hits);
	stapy_out_string(out, "plain", 0, 0, -1);
	stapy_out_long(out, g_hits, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* records.stp:9: printf("%.4m %M\n", hits, hits) */
	out = stapy_typed_begin(c, 2);
	if (!stapy_typed_memory(c, out, g_hits, 0, 4, at_9_23))
		goto unlock_1;
	if (!stapy_typed_memory(c, out, g_hits, 0, -1, at_9_29))
		goto unlock_1;
	if (!stapy_out_memory(c, out, g_hits, false, 0, 0, 4, at_9_23))
		goto unlock_1;
	stapy_out_text(out, " ", 1);
	if (!stapy_out_memory(c, out, g_hits, true, 0, 0, -1, at_9_29))
		goto unlock_1;
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
unlock_1:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

static const struct stapy_lock_row locks_timer_s_1[] = {
	{ &lock_hits, true, "hits" },
	{ &lock_last, true, "last" },
	{ &lock_sizes, true, "sizes" },
};

/*
 * probe at records.stp:12:1:
 *   timer.s(1)
 * locks: hits (write), last (write), sizes (write)
 */
static void h_timer_s_1(struct stapy_context *c)
{
	union stapy_key keys[2];
	struct stapy_out *out;
	const struct stapy_stat *stat, *stat_2;

	if (!stapy_lock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1)))
		return;

	/* records.stp:13: hits++ */
	g_hits++;

	/* records.stp:14: sizes[hits, "a"] <<< hits */
	keys[0].n = g_hits;
	keys[1].s = "a";
	if (!stapy_map_add(c, g_sizes, keys, g_hits, at_14_3))
		goto out;

	/* records.stp:15: last = "x" */
	stapy_copy(g_last, "x", sizeof(g_last));

	/* records.stp:16: print(@hist_linear(sizes[hits, "a"], 0, 100, 10)) */
	out = stapy_typed_begin(c, 3);
	keys[0].n = g_hits;
	keys[1].s = "a";
	stat = stapy_map_stat(g_sizes, keys);
	stapy_typed_stat(out, stat, &storage[0].shape);
	keys[0].n = g_hits;
	keys[1].s = "a";
	stat_2 = stapy_map_stat(g_sizes, keys);
	if (!stapy_out_histogram(c, out, stat_2, &storage[0].shape, at_16_9))
		goto out;
	stapy_print_end(c);
out:
	stapy_unlock(c, locks_timer_s_1, ARRAY_SIZE(locks_timer_s_1));
}

/*
 *   end
 * locks: hits (read)
 */
static void h_end(struct stapy_context *c)
{
	struct stapy_out *out;

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	out = stapy_typed_begin(c, 4);
	stapy_typed_long(out, g_hits);
	stapy_print_end(c);
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

static const struct stapy_lock_row locks_end_2[] = {
	{ &lock_sizes, true, "sizes" },
};

/*
 *   end
 * locks: sizes (write)
 */
static void h_end_2(struct stapy_context *c)
{
	struct {
		char idx1[8];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[2];
	struct stapy_iter iter;
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 idx0 = 0;

	l->idx1[0] = '\0';
	if (!stapy_lock(c, locks_end_2, ARRAY_SIZE(locks_end_2)))
		return;

	if (!stapy_act(c, 1, NULL))
		goto out;
	stapy_iter_start(&iter, g_sizes, 1, STAPY_COUNT, true, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		idx0 = stapy_iter_key_long(&iter, 0);
		stapy_copy(l->idx1, stapy_iter_key_string(&iter, 1), sizeof(l->idx1));
		if (!stapy_act(c, 2, NULL))
			goto out;
		out = stapy_typed_begin(c, 5);
		stapy_typed_long(out, idx0);
		stapy_typed_string(out, l->idx1);
		keys[0].n = idx0;
		keys[1].s = l->idx1;
		stat = stapy_map_stat(g_sizes, keys);
		stapy_typed_stat(out, stat, &storage[0].shape);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end_2, ARRAY_SIZE(locks_end_2));
}

static const struct stapy_lock_row locks_end_3[] = {
	{ &lock_last, false, "last" },
};

/*
 *   end
 * locks: last (read)
 */
static void h_end_3(struct stapy_context *c)
{
	struct stapy_out *out;

	if (!stapy_lock(c, locks_end_3, ARRAY_SIZE(locks_end_3)))
		return;

	out = stapy_typed_begin(c, 6);
	stapy_out_text(out, "last=\"", 6);
	stapy_out_string(out, g_last, 0, 0, -1);
	stapy_out_text(out, "\"\n", 2);
	stapy_print_end(c);
	stapy_unlock(c, locks_end_3, ARRAY_SIZE(locks_end_3));
}

/*
 *   end
 * locks: last (read)
 */
static void h_end_4(struct stapy_context *c)
{
	struct stapy_out *out;

	if (!stapy_lock(c, locks_end_3, ARRAY_SIZE(locks_end_3)))
		return;

	out = stapy_typed_begin(c, 7);
	stapy_typed_string(out, g_last);
	stapy_print_end(c);
	stapy_unlock(c, locks_end_3, ARRAY_SIZE(locks_end_3));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "records.stp:5:1",
	},
	[1] = {
		.handler = h_timer_s_1,
		.written = "timer.s(1)",
		.alias = "timer.s(1)",
		.place = "records.stp:12:1",
	},
	[2] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[3] = {
		.handler = h_end_2,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[4] = {
		.handler = h_end_3,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
	[5] = {
		.handler = h_end_4,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* begin */
	{
		.site = { &probes[0], "begin" },
		.phase = STAPY_BEGIN,
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
	/* end */
	{
		.site = { &probes[5], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_timer_row timer_rows[] = {
	/* timer.s(1) */
	{
		.site = { &probes[1], "timer.s(1)" },
		.interval = 1000000000,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_timer, timer_rows, ARRAY_SIZE(timer_rows) },
};

struct stapy_session stapy_session = {
	.name = "records",
	.script = "records.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.records =
		"{\"schema\":1,\"stapy\":\"0.1.0\",\"format\":\"json\",\"script\":\"records.stp\",\"release\":\"\",\"arch\":\"\",\"string_bytes\":512,\"stack_frames\":20,\"prints\":[{\"fields\":[{\"name\":\"s\",\"kind\":\"string\"},{\"name\":\"hits\",\"kind\":\"long\"},{\"name\":\"arg3\",\"kind\":\"unsigned\"},{\"name\":\"arg4\",\"kind\":\"long\"},{\"name\":\"latency\",\"kind\":\"long\"},{\"name\":\"arg6\",\"kind\":\"char\"}],\"place\":\"records.stp:7:3\"},{\"fields\":[{\"name\":\"arg1\",\"kind\":\"string\",\"constant\":true},{\"name\":\"hits\",\"kind\":\"long\"}],\"place\":\"records.stp:8:3\"},{\"fields\":[{\"name\":\"hits\",\"kind\":\"text\"},{\"name\":\"hits_2\",\"kind\":\"bytes\"}],\"place\":\"records.stp:9:3\"},{\"fields\":[{\"name\":\"sizes\",\"kind\":\"stat\",\"shape\":[\"linear\",0,100,10]}],\"place\":\"records.stp:16:3\"},{\"fields\":[{\"name\":\"value\",\"kind\":\"long\"}],\"shows\":\"hits\"},{\"fields\":[{\"name\":\"key1\",\"kind\":\"long\"},{\"name\":\"key2\",\"kind\":\"string\"},{\"name\":\"value\",\"kind\":\"stat\",\"shape\":[\"linear\",0,100,10]}],\"shows\":\"sizes\"},{\"fields\":[],\"shows\":\"last\"},{\"fields\":[{\"name\":\"value\",\"kind\":\"string\"}],\"shows\":\"last\"}],\"probes\":[[\"begin\",\"records.stp:5:1\"],[\"timer.s(1)\",\"records.stp:12:1\"],[\"end\",\":0:0\"],[\"end\",\":0:0\"],[\"end\",\":0:0\"],[\"end\",\":0:0\"]]}"
		"",
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 32,
};

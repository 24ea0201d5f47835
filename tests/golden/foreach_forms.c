/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreach_forms.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_map *g_names;
static struct stapy_map *g_table;
static struct stapy_map *g_total;

static struct stapy_storage storage[] = {
	{
		.name = "names",
		.map = &g_names,
		.value = STAPY_STRING,
		.nkeys = 1,
		.keys = { STAPY_LONG },
		.value_bytes = 8,
	},
	{
		.name = "table",
		.map = &g_table,
		.value = STAPY_LONG,
		.nkeys = 2,
		.keys = { STAPY_STRING, STAPY_LONG },
		.key_bytes = { 8, 0 },
	},
	{
		.name = "total",
		.map = &g_total,
		.value = STAPY_STAT,
		.nkeys = 1,
		.keys = { STAPY_STRING },
		.key_bytes = { 8 },
		.wrap = 1,
		.size_set = 1,
		.size = 50,
	},
};

/* --- locks --- */

static struct stapy_lock lock_names;
static struct stapy_lock lock_table;
static struct stapy_lock lock_total;

/* --- places of errors --- */

static const char at_4_2[] = "identifier 'names' at foreach_forms.stp:4:2";
static const char at_4_20[] = "identifier 'names' at foreach_forms.stp:4:20";
static const char at_5_2[] = "identifier 'table' at foreach_forms.stp:5:2";
static const char at_5_21[] = "identifier 'table' at foreach_forms.stp:5:21";
static const char at_6_2[] = "identifier 'total' at foreach_forms.stp:6:2";
static const char at_6_21[] = "identifier 'total' at foreach_forms.stp:6:21";
static const char at_8_23[] = "identifier 'println' at foreach_forms.stp:8:23";
static const char at_9_2[] = "keyword at foreach_forms.stp:9:2";
static const char at_9_32[] = "identifier 'println' at foreach_forms.stp:9:32";
static const char at_10_2[] = "keyword at foreach_forms.stp:10:2";
static const char at_10_31[] = "identifier 'println' at foreach_forms.stp:10:31";
static const char at_11_2[] = "keyword at foreach_forms.stp:11:2";
static const char at_11_29[] = "identifier 'println' at foreach_forms.stp:11:29";
static const char at_12_2[] = "keyword at foreach_forms.stp:12:2";
static const char at_12_40[] = "identifier 'println' at foreach_forms.stp:12:40";
static const char at_13_2[] = "keyword at foreach_forms.stp:13:2";
static const char at_13_41[] = "identifier 'println' at foreach_forms.stp:13:41";
static const char at_13_57[] = "operator '@sum' at foreach_forms.stp:13:57";
static const char at_13_73[] = "operator '@min' at foreach_forms.stp:13:73";

/* --- slices: which keys match everything --- */

static const u8 any_kx[] = { 0, 1 };

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_names, true, "names" },
	{ &lock_table, true, "table" },
	{ &lock_total, true, "total" },
};

/*
 * probe at foreach_forms.stp:3:1:
 *   begin
 * locks: names (write), table (write), total (write)
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char word[8];
		char s[8];
		union stapy_key slice[2];
		char x[8];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[2];
	struct stapy_iter iter;
	struct stapy_out *out;
	const char *names;
	const struct stapy_stat *stat;
	s64 n = 0, i = 0, v = 0, *slot, sum, min;

	l->word[0] = '\0';
	l->s[0] = '\0';
	l->x[0] = '\0';
	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* foreach_forms.stp:4: names[1] = "one"; names[2] = "two" */
	if (!stapy_act(c, 7, at_4_2))
		goto out;
	keys[0].n = 1;
	if (!stapy_map_set_string(c, g_names, keys, "one", at_4_2))
		goto out;
	keys[0].n = 2;
	if (!stapy_map_set_string(c, g_names, keys, "two", at_4_20))
		goto out;

	/* foreach_forms.stp:5: table["a", 1] = 5; table["b", 2] = 3 */
	keys[0].s = "a";
	keys[1].n = 1;
	slot = stapy_map_slot(c, g_table, keys, at_5_2);
	if (!slot)
		goto out;
	*slot = 5;
	keys[0].s = "b";
	keys[1].n = 2;
	slot = stapy_map_slot(c, g_table, keys, at_5_21);
	if (!slot)
		goto out;
	*slot = 3;

	/* foreach_forms.stp:6: total["x"] <<< 10; total["y"] <<< 20 */
	keys[0].s = "x";
	if (!stapy_map_add(c, g_total, keys, 10, at_6_2))
		goto out;
	keys[0].s = "y";
	if (!stapy_map_add(c, g_total, keys, 20, at_6_21))
		goto out;

	/* foreach_forms.stp:8: foreach (n in names) println(n, names[n]) */
	stapy_iter_start(&iter, g_names, 0, 0, false, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		n = stapy_iter_key_long(&iter, 0);
		if (!stapy_act(c, 2, at_8_23))
			goto out;
		keys[0].n = n;
		names = stapy_map_get_string(g_names, keys);
		out = stapy_print_begin(c);
		stapy_out_long(out, n, 'd', 0, 0, -1);
		stapy_out_string(out, names, 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* foreach_forms.stp:9: foreach (n+ in names limit 3) println(n) */
	if (!stapy_act(c, 1, at_9_2))
		goto out;
	stapy_iter_start(&iter, g_names, 2, 0, false, 3, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		n = stapy_iter_key_long(&iter, 0);
		if (!stapy_act(c, 2, at_9_32))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_long(out, n, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* foreach_forms.stp:10: foreach (word = n in names-) println(word, n) */
	if (!stapy_act(c, 1, at_10_2))
		goto out;
	stapy_iter_start(&iter, g_names, 1, 0, true, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		n = stapy_iter_key_long(&iter, 0);
		stapy_copy(l->word, stapy_iter_string(&iter), sizeof(l->word));
		if (!stapy_act(c, 2, at_10_31))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_string(out, l->word, 0, 0, -1);
		stapy_out_long(out, n, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* foreach_forms.stp:11: foreach ([s-, i] in table) println(s, i) */
	if (!stapy_act(c, 1, at_11_2))
		goto out;
	stapy_iter_start(&iter, g_table, 2, 0, true, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		stapy_copy(l->s, stapy_iter_key_string(&iter, 0), sizeof(l->s));
		i = stapy_iter_key_long(&iter, 1);
		if (!stapy_act(c, 2, at_11_29))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_string(out, l->s, 0, 0, -1);
		stapy_out_long(out, i, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* foreach_forms.stp:12: foreach (v = [s, i] in table["a", *]) println(s, i, v) */
	if (!stapy_act(c, 1, at_12_2))
		goto out;
	l->slice[0].s = "a";
	stapy_iter_start(&iter, g_table, 0, 0, false, -1, l->slice, any_kx);
	while (stapy_iter_next(&iter)) {
		stapy_copy(l->s, stapy_iter_key_string(&iter, 0), sizeof(l->s));
		i = stapy_iter_key_long(&iter, 1);
		v = stapy_iter_long(&iter);
		if (!stapy_act(c, 2, at_12_40))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_string(out, l->s, 0, 0, -1);
		stapy_out_long(out, i, 'd', 0, 0, -1);
		stapy_out_long(out, v, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* foreach_forms.stp:13: foreach (x in total @sum- limit n + 1) println(x, " ", @sum(tot... */
	if (!stapy_act(c, 1, at_13_2))
		goto out;
	stapy_iter_start(&iter, g_total, 1, STAPY_SUM, true, max_t(s64, n + 1, 0), NULL, NULL);
	while (stapy_iter_next(&iter)) {
		stapy_copy(l->x, stapy_iter_key_string(&iter, 0), sizeof(l->x));
		if (!stapy_act(c, 2, at_13_41))
			goto out;
		keys[0].s = l->x;
		stat = stapy_map_stat(g_total, keys);
		stapy_stat_value(c, stat, STAPY_SUM, 0, &sum, at_13_57);
		if (!stapy_stat_value(c, stat, STAPY_MIN, 0, &min, at_13_73))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_string(out, l->x, 0, 0, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, sum, 'd', 0, 0, -1);
		stapy_out_long(out, min, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "foreach_forms.stp:3:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* begin */
	{
		.site = { &probes[0], "begin" },
		.phase = STAPY_BEGIN,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
};

struct stapy_session stapy_session = {
	.name = "foreach_forms",
	.script = "foreach_forms.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 40,
};

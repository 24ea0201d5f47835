/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slices.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_map *g_a;
static struct stapy_map *g_s;

static struct stapy_storage storage[] = {
	{
		.name = "a",
		.map = &g_a,
		.value = STAPY_LONG,
		.nkeys = 2,
		.keys = { STAPY_LONG, STAPY_STRING },
		.key_bytes = { 0, 8 },
	},
	{
		.name = "s",
		.map = &g_s,
		.value = STAPY_STAT,
		.nkeys = 1,
		.keys = { STAPY_STRING },
		.key_bytes = { 8 },
	},
};

/* --- locks --- */

static struct stapy_lock lock_a;
static struct stapy_lock lock_s;

/* --- places of errors --- */

static const char at_4_2[] = "identifier 'a' at slices.stp:4:2";
static const char at_4_17[] = "identifier 'a' at slices.stp:4:17";
static const char at_8_2[] = "identifier 's' at slices.stp:8:2";
static const char at_9_10[] = "operator '@count' at slices.stp:9:10";

/* --- slices: which keys match everything --- */

static const u8 any_kx[] = { 0, 1 };
static const u8 any_xk[] = { 1, 0 };

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_a, true, "a" },
	{ &lock_s, true, "s" },
};

/*
 * probe at slices.stp:3:1:
 *   begin
 * locks: a (write), s (write)
 */
static void h_begin(struct stapy_context *c)
{
	union stapy_key keys[2];
	struct stapy_out *out;
	const struct stapy_stat *stat;
	s64 *slot, found, count;

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* slices.stp:4: a[1, "x"] = 1; a[2, "y"] = 2 */
	keys[0].n = 1;
	keys[1].s = "x";
	slot = stapy_map_slot(c, g_a, keys, at_4_2);
	if (!slot)
		goto out;
	*slot = 1;
	keys[0].n = 2;
	keys[1].s = "y";
	slot = stapy_map_slot(c, g_a, keys, at_4_17);
	if (!slot)
		goto out;
	*slot = 2;

	/* slices.stp:5: if ([1, *] in a) println("some") */
	keys[0].n = 1;
	found = stapy_map_has_slice(g_a, keys, any_kx);
	if (found) {
		out = stapy_print_begin(c);
		stapy_out_text(out, "some\n", 5);
		stapy_print_end(c);
	}

	/* slices.stp:6: if (["none"] in s) println("never") */
	keys[0].s = "none";
	found = stapy_map_has(g_s, keys);
	if (found) {
		out = stapy_print_begin(c);
		stapy_out_text(out, "never\n", 6);
		stapy_print_end(c);
	}

	/* slices.stp:7: delete a[*, "x"] */
	keys[1].s = "x";
	stapy_map_delete_slice(g_a, keys, any_xk);

	/* slices.stp:8: s["k"] <<< 3 */
	keys[0].s = "k";
	if (!stapy_map_add(c, g_s, keys, 3, at_8_2))
		goto out;

	/* slices.stp:9: println(@count(s["k"])) */
	keys[0].s = "k";
	stat = stapy_map_stat(g_s, keys);
	stapy_stat_value(c, stat, STAPY_COUNT, 0, &count, at_9_10);
	out = stapy_print_begin(c);
	stapy_out_long(out, count, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* slices.stp:10: delete a */
	stapy_map_clear(g_a);

	/* slices.stp:11: delete s["k"] */
	keys[0].s = "k";
	stapy_map_delete(g_s, keys);
out:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "slices.stp:3:1",
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
	.name = "slices",
	.script = "slices.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 0,
};

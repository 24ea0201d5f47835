/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order_of_evaluation.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_g;

/* --- arrays and statistics --- */

static struct stapy_map *g_pairs;

static struct stapy_storage storage[] = {
	{
		.name = "pairs",
		.map = &g_pairs,
		.value = STAPY_LONG,
		.nkeys = 2,
		.keys = { STAPY_LONG, STAPY_LONG },
	},
};

/* --- locks --- */

static struct stapy_lock lock_g;
static struct stapy_lock lock_pairs;

/* --- places of errors --- */

static const char at_12_2[] = "identifier 'pairs' at order_of_evaluation.stp:12:2";

/* --- functions --- */

static s64 f_bump(struct stapy_context *c);

/* function bump at order_of_evaluation.stp:3:10 */
static s64 f_bump(struct stapy_context *c)
{
	/* order_of_evaluation.stp:3: function bump() { g++; return g } */
	g_g++;
	return g_g;
}

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_g, true, "g" },
	{ &lock_pairs, true, "pairs" },
};

/*
 * probe at order_of_evaluation.stp:5:1:
 *   begin
 * locks: g (write), pairs (write)
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char s[8];
		char text[16];
		char text_2[32];
		char text_3[32];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[2];
	struct stapy_out *out;
	s64 x = 0, y = 0, z = 0, g, bump, x_2, old, bump_2, chosen, both, found, key1, *slot;

	l->s[0] = '\0';

	/* order_of_evaluation.stp:6: x = 1 */
	x = 1;

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* order_of_evaluation.stp:7: println(g + bump() + g, x + x++ + x) */
	g = g_g;
	bump = f_bump(c);
	x_2 = x;
	old = x++;
	out = stapy_print_begin(c);
	stapy_out_long(out, g + bump + g_g, 'd', 0, 0, -1);
	stapy_out_long(out, x_2 + old + x, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* order_of_evaluation.stp:8: y = bump() ? bump() : 0 */
	bump = f_bump(c);
	if (bump) {
		bump_2 = f_bump(c);
		chosen = bump_2;
	} else {
		chosen = 0;
	}
	y = chosen;

	/* order_of_evaluation.stp:9: z = x && bump() || y */
	both = x != 0;
	if (both) {
		bump = f_bump(c);
		both = bump != 0;
	}
	z = both || y;

	/* order_of_evaluation.stp:10: s = "a" */
	stapy_copy(l->s, "a", sizeof(l->s));

	/* order_of_evaluation.stp:11: println(s . (s = "b") . s, [x++ , x] in pairs) */
	stapy_copy(l->text, l->s, sizeof(l->text));
	stapy_copy(l->s, "b", sizeof(l->s));
	stapy_concat(l->text_2, l->text, l->s, sizeof(l->text_2));
	stapy_concat(l->text_3, l->text_2, l->s, sizeof(l->text_3));
	old = x++;
	keys[0].n = old;
	keys[1].n = x;
	found = stapy_map_has(g_pairs, keys);
	out = stapy_print_begin(c);
	stapy_out_string(out, l->text_3, 0, 0, -1);
	stapy_out_long(out, found, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* order_of_evaluation.stp:12: pairs[x, y] = x + (x = 5) * g */
	key1 = x;
	x_2 = x;
	x = 5;
	keys[0].n = key1;
	keys[1].n = y;
	slot = stapy_map_slot(c, g_pairs, keys, at_12_2);
	if (!slot)
		goto unlock_1;
	*slot = x_2 + x * g_g;

	/* order_of_evaluation.stp:13: println(y, z) */
	out = stapy_print_begin(c);
	stapy_out_long(out, y, 'd', 0, 0, -1);
	stapy_out_long(out, z, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
unlock_1:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "order_of_evaluation.stp:5:1",
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
	.name = "order_of_evaluation",
	.script = "order_of_evaluation.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 88,
};

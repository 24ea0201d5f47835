/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- limits --- */

#undef MAXSTRINGLEN
#define MAXSTRINGLEN 64
#undef MAXACTION
#define MAXACTION 5
#undef MYSELF
#define MYSELF 3

/* --- places of errors --- */

static const char at_6_2[] = "identifier 'println' at limits.stp:6:2";
static const char at_6_10[] = "identifier 'outer' at limits.stp:6:10";
static const char at_3_27[] = "identifier 'inner' at limits.stp:3:27";

/* --- functions --- */

static s64 f_outer(struct stapy_context *c);
static s64 f_inner(struct stapy_context *c);

/* function outer at limits.stp:3:10 */
static s64 f_outer(struct stapy_context *c)
{
	s64 ret = 0, inner;

	if (!stapy_nest(c, stapy_at_call))
		goto out;

	/* limits.stp:3: function outer() { return inner() } */
	inner = f_inner(c);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_3_27);
		goto out;
	}
	ret = inner;
out:
	c->nesting++;
	return ret;
}

/* function inner at limits.stp:2:10 */
static s64 f_inner(struct stapy_context *c)
{
	s64 ret = 0;

	if (!stapy_nest(c, stapy_at_call))
		goto out;

	/* limits.stp:2: function inner() { return 1 } */
	ret = 1;
out:
	c->nesting++;
	return ret;
}

/* --- handlers --- */

/*
 * probe at limits.stp:5:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;
	s64 a = 0, outer;

	/* limits.stp:6: println(outer()) */
	if (!stapy_act(c, 9, at_6_2))
		return;
	outer = f_outer(c);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_6_10);
		return;
	}
	out = stapy_print_begin(c);
	stapy_out_long(out, outer, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* limits.stp:7: a = 1; a++; a++; a++; a++ */
	a = 1;
	a++;
	a++;
	a++;
	a++;

	/* limits.stp:8: println(a) */
	out = stapy_print_begin(c);
	stapy_out_long(out, a, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "limits.stp:5:1",
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
	.name = "limits",
	.script = "limits.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recursion.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- limits --- */

#undef MAXNESTING
#define MAXNESTING 14

/* --- places of errors --- */

static const char at_10_2[] = "identifier 'println' at recursion.stp:10:2";
static const char at_10_10[] = "identifier 'fib' at recursion.stp:10:10";
static const char at_10_19[] = "identifier 'even' at recursion.stp:10:19";
static const char at_2_2[] = "keyword at recursion.stp:2:2";
static const char at_3_2[] = "keyword at recursion.stp:3:2";
static const char at_3_9[] = "identifier 'fib' at recursion.stp:3:9";
static const char at_3_22[] = "identifier 'fib' at recursion.stp:3:22";
static const char at_6_40[] = "identifier 'odd' at recursion.stp:6:40";
static const char at_7_39[] = "identifier 'even' at recursion.stp:7:39";

/* --- functions --- */

static s64 f_fib(struct stapy_context *c, s64 n);
static s64 f_even(struct stapy_context *c, s64 n);
static s64 f_odd(struct stapy_context *c, s64 n);

/* function fib at recursion.stp:1:10 */
static s64 f_fib(struct stapy_context *c, s64 n)
{
	s64 ret = 0, fib, fib_2;

	if (!stapy_nest(c, stapy_at_call))
		goto out;

	/* recursion.stp:2: if (n < 2) return n */
	if (!stapy_act(c, 1, at_2_2))
		goto out;
	if (n < 2) {
		ret = n;
		goto out;
	}

	/* recursion.stp:3: return fib(n - 1) + fib(n - 2) */
	if (!stapy_act(c, 1, at_3_2))
		goto out;
	fib = f_fib(c, n - 1);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_3_9);
		goto out;
	}
	fib_2 = f_fib(c, n - 2);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_3_22);
		goto out;
	}
	ret = fib + fib_2;
out:
	c->nesting++;
	return ret;
}

/* function even at recursion.stp:6:10 */
static s64 f_even(struct stapy_context *c, s64 n)
{
	s64 ret = 0, odd, chosen;

	if (!stapy_nest(c, stapy_at_call))
		goto out;

	/* recursion.stp:6: function even(n) { return n == 0 ? 1 : odd(n - 1) } */
	if (n == 0) {
		chosen = 1;
	} else {
		odd = f_odd(c, n - 1);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_6_40);
			goto out;
		}
		chosen = odd;
	}
	ret = chosen;
out:
	c->nesting++;
	return ret;
}

/* function odd at recursion.stp:7:10 */
static s64 f_odd(struct stapy_context *c, s64 n)
{
	s64 ret = 0, even, chosen;

	if (!stapy_nest(c, stapy_at_call))
		goto out;

	/* recursion.stp:7: function odd(n) { return n == 0 ? 0 : even(n - 1) } */
	if (n == 0) {
		chosen = 0;
	} else {
		even = f_even(c, n - 1);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_7_39);
			goto out;
		}
		chosen = even;
	}
	ret = chosen;
out:
	c->nesting++;
	return ret;
}

/* --- handlers --- */

/*
 * probe at recursion.stp:9:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;
	s64 fib, even;

	/* recursion.stp:10: println(fib(10), even(7)) */
	if (!stapy_act(c, 1, at_10_2))
		return;
	fib = f_fib(c, 10);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_10_10);
		return;
	}
	even = f_even(c, 7);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_10_19);
		return;
	}
	out = stapy_print_begin(c);
	stapy_out_long(out, fib, 'd', 0, 0, -1);
	stapy_out_long(out, even, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "recursion.stp:9:1",
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
	.name = "recursion",
	.script = "recursion.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

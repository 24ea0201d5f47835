/* SPDX-License-Identifier: GPL-2.0-or-later */
/* many_locals.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_out;

/* --- handlers --- */

/*
 * probe at many_locals.stp:3:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		s64 a1;
		s64 a2;
		s64 a3;
		s64 a4;
		s64 a5;
		s64 a6;
		s64 a7;
		s64 a8;
		s64 a9;
		s64 b1;
		s64 b2;
		s64 b3;
		s64 b4;
		s64 b5;
		s64 b6;
		s64 b7;
		s64 b8;
		s64 b9;
		s64 c1;
		s64 c2;
		s64 c3;
		s64 c4;
		s64 c5;
		s64 c6;
		s64 c7;
		s64 c8;
		s64 c9;
		s64 current_;
		s64 sk_state_;
		s64 int_;
		s64 jiffies_;
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out;

	l->a1 = 0;
	l->a2 = 0;
	l->a3 = 0;
	l->a4 = 0;
	l->a5 = 0;
	l->a6 = 0;
	l->a7 = 0;
	l->a8 = 0;
	l->a9 = 0;
	l->b1 = 0;
	l->b2 = 0;
	l->b3 = 0;
	l->b4 = 0;
	l->b5 = 0;
	l->b6 = 0;
	l->b7 = 0;
	l->b8 = 0;
	l->b9 = 0;
	l->c1 = 0;
	l->c2 = 0;
	l->c3 = 0;
	l->c4 = 0;
	l->c5 = 0;
	l->c6 = 0;
	l->c7 = 0;
	l->c8 = 0;
	l->c9 = 0;
	l->current_ = 0;
	l->sk_state_ = 0;
	l->int_ = 0;
	l->jiffies_ = 0;

	/* many_locals.stp:4: a1 = 1; a2 = 2; a3 = 3; a4 = 4; a5 = 5; a6 = 6; a7 = 7; a8 = 8; a9... */
	l->a1 = 1;
	l->a2 = 2;
	l->a3 = 3;
	l->a4 = 4;
	l->a5 = 5;
	l->a6 = 6;
	l->a7 = 7;
	l->a8 = 8;
	l->a9 = 9;

	/* many_locals.stp:5: b1 = 1; b2 = 2; b3 = 3; b4 = 4; b5 = 5; b6 = 6; b7 = 7; b8 = 8; b9... */
	l->b1 = 1;
	l->b2 = 2;
	l->b3 = 3;
	l->b4 = 4;
	l->b5 = 5;
	l->b6 = 6;
	l->b7 = 7;
	l->b8 = 8;
	l->b9 = 9;

	/* many_locals.stp:6: c1 = 1; c2 = 2; c3 = 3; c4 = 4; c5 = 5; c6 = 6; c7 = 7; c8 = 8; c9... */
	l->c1 = 1;
	l->c2 = 2;
	l->c3 = 3;
	l->c4 = 4;
	l->c5 = 5;
	l->c6 = 6;
	l->c7 = 7;
	l->c8 = 8;
	l->c9 = 9;

	/* many_locals.stp:7: if (out) { a1++; b1++; c1++ } */
	if (g_out) {
		l->a1++;
		l->b1++;
		l->c1++;
	}

	/* many_locals.stp:8: println(a1+a2+a3+a4+a5+a6+a7+a8+a9, b1+b2+b3+b4+b5+b6+b7+b8+b9) */
	out = stapy_print_begin(c);
	stapy_out_long(out, l->a1 + l->a2 + l->a3 + l->a4 + l->a5 + l->a6 + l->a7 + l->a8 + l->a9,
			'd', 0, 0, -1);
	stapy_out_long(out, l->b1 + l->b2 + l->b3 + l->b4 + l->b5 + l->b6 + l->b7 + l->b8 + l->b9,
			'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* many_locals.stp:9: println(c1+c2+c3+c4+c5+c6+c7+c8+c9) */
	out = stapy_print_begin(c);
	stapy_out_long(out, l->c1 + l->c2 + l->c3 + l->c4 + l->c5 + l->c6 + l->c7 + l->c8 + l->c9,
			'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* many_locals.stp:10: current = 1; sk_state = 2; int = 3; jiffies = 4 */
	l->current_ = 1;
	l->sk_state_ = 2;
	l->int_ = 3;
	l->jiffies_ = 4;

	/* many_locals.stp:11: println(current, sk_state, int, jiffies) */
	out = stapy_print_begin(c);
	stapy_out_long(out, l->current_, 'd', 0, 0, -1);
	stapy_out_long(out, l->sk_state_, 'd', 0, 0, -1);
	stapy_out_long(out, l->int_, 'd', 0, 0, -1);
	stapy_out_long(out, l->jiffies_, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "many_locals.stp:3:1",
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
	.name = "many_locals",
	.script = "many_locals.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 248,
};

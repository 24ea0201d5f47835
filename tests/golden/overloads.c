/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overloads.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- limits --- */

#undef MAXNESTING
#define MAXNESTING 2

/* --- functions --- */

static s64 f_f(struct stapy_context *c, s64 a_arg);
static s64 f_f_2(struct stapy_context *c, s64 a);
static void f_f_3(struct stapy_context *c, char ret[static 8], const char *a, s64 b);
static void f_f_4(struct stapy_context *c, char ret[static 8], const char *a, s64 b);

/* function f at overloads.stp:1:10 */
static s64 f_f(struct stapy_context *c, s64 a_arg)
{
	s64 a = 0, ret = 0;

	a = a_arg;

	/* overloads.stp:1: function f(a) { if (a > 1) next; a = 5; return a } */
	if (a > 1) {
		ret = f_f_2(c, a_arg);
		goto out;
	}
	a = 5;
	ret = a;
out:
	return ret;
}

/* function f at overloads.stp:2:10 */
static s64 f_f_2(struct stapy_context *c, s64 a)
{
	/* overloads.stp:2: function f(a) { return a + 1 } */
	return a + 1;
}

/* function f at overloads.stp:3:10 */
static void f_f_3(struct stapy_context *c, char ret[static 8], const char *a, s64 b)
{
	ret[0] = '\0';

	/* overloads.stp:3: function f:string(a:string, b) { if (b) next; return a } */
	if (b) {
		f_f_4(c, ret, a, b);
		return;
	}
	stapy_copy(ret, a, 8);
}

/* function f at overloads.stp:4:10 */
static void f_f_4(struct stapy_context *c, char ret[static 8], const char *a, s64 b)
{
	ret[0] = '\0';

	/* overloads.stp:4: function f:string(a:string, b) { return "default" } */
	stapy_copy(ret, "default", 8);
}

/* --- handlers --- */

/*
 * probe at overloads.stp:6:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char text[16];
		char text_2[16];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out;
	s64 f, f_2;

	/* overloads.stp:7: println(f(1), f(2), f("x", 0), f("x", 1)) */
	f = f_f(c, 1);
	f_2 = f_f(c, 2);
	f_f_3(c, l->text, "x", 0);
	f_f_3(c, l->text_2, "x", 1);
	out = stapy_print_begin(c);
	stapy_out_long(out, f, 'd', 0, 0, -1);
	stapy_out_long(out, f_2, 'd', 0, 0, -1);
	stapy_out_string(out, l->text, 0, 0, -1);
	stapy_out_string(out, l->text_2, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "overloads.stp:6:1",
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
	.name = "overloads",
	.script = "overloads.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 32,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hello.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- functions --- */

static void f_exit(struct stapy_context *c);

/* function exit at library.stp:2:10 */
static void f_exit(struct stapy_context *c)
{
	{
#line 2 "library.stp"
 /* unprivileged */
	stapy_exit();
#line 21 "hello.c"
	}
}

/* --- handlers --- */

/*
 * probe at hello.stp:1:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;

	/* hello.stp:2: println("hello, world") */
	out = stapy_print_begin(c);
	stapy_out_text(out, "hello, world\n", 13);
	stapy_print_end(c);

	/* hello.stp:3: exit() */
	f_exit(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "hello.stp:1:1",
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
	.name = "hello",
	.script = "hello.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

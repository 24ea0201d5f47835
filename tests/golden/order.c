/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- handlers --- */

/*
 * probe at order.stp:1:1:
 *   begin(2)
 */
static void h_begin_2(struct stapy_context *c)
{
	struct stapy_out *out;

	/* order.stp:1: probe begin(2) { println("second") } */
	out = stapy_print_begin(c);
	stapy_out_text(out, "second\n", 7);
	stapy_print_end(c);
}

/*
 * probe at order.stp:2:1:
 *   begin(-1)
 */
static void h_begin_1(struct stapy_context *c)
{
	struct stapy_out *out;

	/* order.stp:2: probe begin(-1) { println("first") } */
	out = stapy_print_begin(c);
	stapy_out_text(out, "first\n", 6);
	stapy_print_end(c);
}

/*
 * probe at order.stp:3:1:
 *   end
 *   error
 */
static void h_end(struct stapy_context *c)
{
	struct stapy_out *out;

	/* order.stp:3: probe end, error { println("over") } */
	out = stapy_print_begin(c);
	stapy_out_text(out, "over\n", 5);
	stapy_print_end(c);
}

/*
 * probe at order.stp:4:1:
 *   never
 */
static void h_never(struct stapy_context *c)
{
	struct stapy_out *out;

	/* order.stp:4: probe never { println("never") } */
	out = stapy_print_begin(c);
	stapy_out_text(out, "never\n", 6);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin_2,
		.written = "begin(2)",
		.alias = "begin(2)",
		.place = "order.stp:1:1",
	},
	[1] = {
		.handler = h_begin_1,
		.written = "begin(-1)",
		.alias = "begin(-1)",
		.place = "order.stp:2:1",
	},
	[2] = {
		.handler = h_end,
		.written = "end,error",
		.alias = "end",
		.place = "order.stp:3:1",
	},
	[3] = {
		.handler = h_end,
		.written = "end,error",
		.alias = "error",
		.place = "order.stp:3:1",
	},
	[4] = {
		.handler = h_never,
		.written = "never",
		.alias = "never",
		.place = "order.stp:4:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* begin(-1) */
	{
		.site = { &probes[1], "begin(-1)" },
		.phase = STAPY_BEGIN,
		.order = -1,
	},
	/* end */
	{
		.site = { &probes[2], "end" },
		.phase = STAPY_END,
	},
	/* error */
	{
		.site = { &probes[3], "error" },
		.phase = STAPY_ERROR,
	},
	/* begin(2) */
	{
		.site = { &probes[0], "begin(2)" },
		.phase = STAPY_BEGIN,
		.order = 2,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
};

struct stapy_session stapy_session = {
	.name = "order",
	.script = "order.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

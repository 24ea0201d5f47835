/* SPDX-License-Identifier: GPL-2.0-or-later */
/* embedded_late.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- embedded C --- */

#line 5 "embedded_late.stp"

static int sooner;

#line 16 "embedded_late.c"

/* --- embedded C behind the globals --- */

#line 2 "embedded_late.stp"
   /* pragma:suffix */
static int later(void) { return sizeof(stapy_session); }

#line 24 "embedded_late.c"

/* --- functions --- */

static s64 f_f(struct stapy_context *c);

/* function f at embedded_late.stp:8:10 */
static s64 f_f(struct stapy_context *c)
{
	s64 ret = 0;

#define STAP_RETVALUE ret
	{
#line 8 "embedded_late.stp"
                     STAP_RETVALUE = later() + sooner;
#line 39 "embedded_late.c"
	}
#undef STAP_RETVALUE
	return ret;
}

/* --- handlers --- */

/*
 * probe at embedded_late.stp:9:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;
	s64 f;

	/* embedded_late.stp:9: probe begin { println(f()) } */
	f = f_f(c);
	out = stapy_print_begin(c);
	stapy_out_long(out, f, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "embedded_late.stp:9:1",
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
	.name = "embedded_late",
	.script = "embedded_late.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* formats.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- handlers --- */

/*
 * probe at formats.stp:1:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;
	s64 n = 0;

	/* formats.stp:2: n = 255 */
	n = 255;

	/* formats.stp:3: printf("%d %i %u %o %x %X %#x %p %c\n", n, n, n, n, n, n, n, n, n) */
	out = stapy_print_begin(c);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'u', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'o', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'x', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'X', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'x', STAPY_F_ALT, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'p', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_char(out, n, 0, 0);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* formats.stp:4: printf("%5d|%-5d|%05d|%+d|% d|%*d|%.*s|%10.3s\n", n, n, n, n, n, 7, n,... */
	out = stapy_print_begin(c);
	stapy_out_long(out, n, 'd', 0, 5, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_long(out, n, 'd', STAPY_F_LEFT, 5, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_long(out, n, 'd', STAPY_F_ZERO, 5, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_long(out, n, 'd', STAPY_F_PLUS, 0, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_long(out, n, 'd', STAPY_F_SPACE, 0, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_long(out, n, 'd', 0, 7, -1);
	stapy_out_text(out, "|", 1);
	stapy_out_string(out, "abc", 0, 0, 2);
	stapy_out_text(out, "|", 1);
	stapy_out_string(out, "abcdef", 0, 10, 3);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* formats.stp:5: printf("%4b%8b%s%%\n", n, n, "literal") */
	out = stapy_print_begin(c);
	stapy_out_binary(out, n, 0, 4, -1);
	stapy_out_binary(out, n, 0, 8, -1);
	stapy_out_text(out, "literal%\n", 9);
	stapy_print_end(c);

	/* formats.stp:6: printd(", ", 1, n, "x") */
	out = stapy_print_begin(c);
	stapy_out_text(out, "1, ", 3);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, ", x", 3);
	stapy_print_end(c);

	/* formats.stp:7: printdln(" ", n, n) */
	out = stapy_print_begin(c);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* formats.stp:8: print("no newline") */
	out = stapy_print_begin(c);
	stapy_out_text(out, "no newline", 10);
	stapy_print_end(c);

	/* formats.stp:9: println() */
	out = stapy_print_begin(c);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "formats.stp:1:1",
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
	.name = "formats",
	.script = "formats.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

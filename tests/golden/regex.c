/* SPDX-License-Identifier: GPL-2.0-or-later */
/* regex.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- regular expressions --- */

static const u8 regex_1_classes[] = {
	0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
	4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 1, 1, 6, 1, 1, 1, 7, 1, 1, 8, 1,
	1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

static const u16 regex_1_next[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 3, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 2,
	2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 4, 0, 2, 2, 2, 2, 2, 2, 5, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2,
	6, 2, 0, 2, 2, 2, 2, 2, 7, 2, 2, 2, 0, 2, 2, 2, 2, 8, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2,
	2, 9, 2, 0, 2, 10, 2, 2, 2, 2, 2, 2, 2, 0, 2, 2, 11, 2, 2, 2, 2, 2, 2, 0, 2, 2, 11, 12,
	2, 2, 2, 2, 2, 0, 2, 2, 13, 2, 2, 2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2,
};

static const u8 regex_1_accept[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
};

static const struct stapy_regex regex_1 = {
	.classes = regex_1_classes,
	.next = regex_1_next,
	.accept = regex_1_accept,
	.nclasses = 10,
};

static const u8 regex_2_classes[] = {
	0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

static const u16 regex_2_next[] = {
	0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0,
};

static const u8 regex_2_accept[] = {
	0, 0, 0, 3, 3,
};

static const struct stapy_regex regex_2 = {
	.classes = regex_2_classes,
	.next = regex_2_next,
	.accept = regex_2_accept,
	.nclasses = 4,
};

/* --- handlers --- */

/*
 * probe at regex.stp:1:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char s[16];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out;

	l->s[0] = '\0';

	/* regex.stp:2: s = "kworker/3:1" */
	stapy_copy(l->s, "kworker/3:1", sizeof(l->s));

	/* regex.stp:3: if (s =~ "^kworker/[0-9]+:[[:digit:]]$") println("a worker") */
	if (stapy_regex_search(&regex_1, l->s)) {
		out = stapy_print_begin(c);
		stapy_out_text(out, "a worker\n", 9);
		stapy_print_end(c);
	}

	/* regex.stp:4: if (s !~ "x{2,3}|y") println("no x") */
	if (!stapy_regex_search(&regex_2, l->s)) {
		out = stapy_print_begin(c);
		stapy_out_text(out, "no x\n", 5);
		stapy_print_end(c);
	}
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "regex.stp:1:1",
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
	.name = "regex",
	.script = "regex.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 16,
};

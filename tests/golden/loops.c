/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loops.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_7_7[] = "identifier 'i' at loops.stp:7:7";
static const char at_8_3[] = "keyword at loops.stp:8:3";
static const char at_9_3[] = "keyword at loops.stp:9:3";
static const char at_9_7[] = "identifier 'work' at loops.stp:9:7";
static const char at_11_7[] = "identifier 'i' at loops.stp:11:7";
static const char at_11_27[] = "identifier 'work' at loops.stp:11:27";
static const char at_12_3[] = "keyword at loops.stp:12:3";
static const char at_13_3[] = "keyword at loops.stp:13:3";
static const char at_13_17[] = "identifier 'i' at loops.stp:13:17";
static const char at_15_2[] = "identifier 'n' at loops.stp:15:2";
static const char at_16_20[] = "identifier 'work' at loops.stp:16:20";
static const char at_17_2[] = "identifier 'do_more' at loops.stp:17:2";
static const char at_19_3[] = "keyword at loops.stp:19:3";

/* --- functions --- */

static s64 f_work(struct stapy_context *c, s64 n);

/* function work at loops.stp:1:10 */
static s64 f_work(struct stapy_context *c, s64 n)
{
	struct stapy_out *out;

	/* loops.stp:2: println(n) */
	out = stapy_print_begin(c);
	stapy_out_long(out, n, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* loops.stp:3: return n % 3 */
	return n % 3;
}

/* --- handlers --- */

/*
 * probe at loops.stp:6:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	s64 i = 0, n = 0, do_more = 0, work, old, both;

	/* loops.stp:7: for (i = 0; i < 10; i++) { */
	if (!stapy_act(c, 2, at_7_7))
		return;
	i = 0;
	for (; i < 10; i++) {
		/* loops.stp:8: if (i == 3) continue */
		if (!stapy_act(c, 2, at_8_3))
			return;
		if (i == 3)
			continue;

		/* loops.stp:9: if (work(i) == 2) break */
		if (!stapy_act(c, 3, at_9_3))
			return;
		work = f_work(c, i);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_9_7);
			return;
		}
		if (work == 2)
			break;
	}

	/* loops.stp:11: for (i = 9; i >= 0; i -= work(i) + 1) { */
	if (!stapy_act(c, 4, at_11_7))
		return;
	i = 9;
	while (i >= 0) {
		/* loops.stp:12: if (i == 5) continue */
		if (!stapy_act(c, 2, at_12_3))
			return;
		if (i == 5)
			goto step_1;

		/* loops.stp:13: while (i > 7) i-- */
		if (!stapy_act(c, 1, at_13_3))
			return;
		while (i > 7) {
			if (!stapy_act(c, 2, at_13_17))
				return;
			i--;
		}
step_1:
		work = f_work(c, i);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_11_27);
			return;
		}
		i -= work + 1;
	}

	/* loops.stp:15: n = 20 */
	if (!stapy_act(c, 4, at_15_2))
		return;
	n = 20;

	/* loops.stp:16: while (n-- > 0 && work(n)) ; */
	for (;;) {
		old = n--;
		both = old > 0;
		if (both) {
			work = f_work(c, n);
			if (unlikely(c->error)) {
				stapy_called_from(c, at_16_20);
				return;
			}
			both = work != 0;
		}
		if (!both)
			break;
		if (!stapy_act(c, 1, NULL))
			return;
	}

	/* loops.stp:17: do_more = 1 */
	if (!stapy_act(c, 2, at_17_2))
		return;
	do_more = 1;

	/* loops.stp:18: while (1) { */
	for (;;) {
		/* loops.stp:19: if (!do_more--) break */
		if (!stapy_act(c, 2, at_19_3))
			return;
		old = do_more--;
		if (!old)
			break;
	}
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "loops.stp:6:1",
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
	.name = "loops",
	.script = "loops.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

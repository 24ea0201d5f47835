// SPDX-License-Identifier: GPL-2.0-or-later
/* Two errors are allowed, the third ends the session; error probes run, end probes do not. */
#include "script.h"

static s64 ticks;

static void h_begin(struct stapy_context *c)
{
	int i;

	for (i = 0; stapy_act(c, 1, "keyword at t.stp:1:9"); i++)
		;
	say(c, "%d statements\n", i);
}

static void h_tick(struct stapy_context *c)
{
	struct stapy_out *o = stapy_print_begin(c);

	/* What was printed before the error stays, the unfinished print does not. */
	stapy_out_text(o, "tick\n", 5);
	stapy_print_end(c);
	o = stapy_print_begin(c);
	stapy_out_text(o, "cut short", 9);
	stapy_error(c, "operator '/' at t.stp:2:9", "division by %lld", 0 * ticks++);
	stapy_error(c, NULL, "the first error wins");
}

static void h_end(struct stapy_context *c)
{
	say(c, "end\n");
}

static void h_error(struct stapy_context *c)
{
	say(c, "error after %lld\n", ticks);
	stapy_warn("a warning with a\nline and a \\");
}

static struct stapy_probe probes[] = {
	PROBE(h_begin, "begin"), PROBE(h_tick, "timer.ms(10)"), PROBE(h_end, "end"),
	PROBE(h_error, "error"),
};

static struct stapy_timer_row timer_rows[] = {
	{ .site = { &probes[1], "timer.ms(10)" }, .interval = 10 * NSEC_PER_MSEC },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
	{ .site = { &probes[2], "end" }, .phase = STAPY_END },
	{ .site = { &probes[3], "error" }, .phase = STAPY_ERROR },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_timer, timer_rows), ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS, .maxskipped = 100, .maxerrors = 2 }, TABLES,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* As generated C for: probe begin { println("hello") exit() } probe end { println("bye") } */
#include "script.h"

static void h_begin(struct stapy_context *c)
{
	say(c, "hello\n");
	stapy_exit();
}

static void h_end(struct stapy_context *c)
{
	say(c, "bye\n");
}

static struct stapy_probe probes[] = { PROBE(h_begin, "begin"), PROBE(h_end, "end") };

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
	{ .site = { &probes[1], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = { ROWS(stapy_begin_end, begin_end_rows) };

struct stapy_session stapy_session = { .limits = { DEFAULT_LIMITS, .maxskipped = 100 }, TABLES };

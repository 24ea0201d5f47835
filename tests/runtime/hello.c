// SPDX-License-Identifier: GPL-2.0-or-later
/* As generated C for: probe begin { println("hello") exit() } probe end { println("bye") } */
#include "stapy.h"

static void h_begin(struct stapy_context *c)
{
	struct stapy_out *o = stapy_print_begin(c);

	stapy_out_text(o, "hello\n", 6);
	stapy_print_end(c);
	stapy_exit();
}

static void h_end(struct stapy_context *c)
{
	struct stapy_out *o = stapy_print_begin(c);

	stapy_out_text(o, "bye\n", 4);
	stapy_print_end(c);
}

static struct stapy_probe probes[] = {
	{ .handler = h_begin, .written = "begin", .alias = "begin", .place = "hello.stp:1:1" },
	{ .handler = h_end, .written = "end", .alias = "end", .place = "hello.stp:1:40" },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
	{ .site = { &probes[1], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
};

struct stapy_session stapy_session = {
	.name = KBUILD_MODNAME,
	.script = "hello.stp",
	.limits = {
		.maxaction = 1000, .maxaction_interruptible = 10000, .maxskipped = 100,
		.maxtrylock = 100, .trylockdelay = 10, .minstackspace = 1024, .maxstringlen = 512,
		.maxnesting = 10, .maxmapentries = 2048, .overload_threshold = 500000000,
		.overload_interval = 1000000000, .buffer_bytes = 2 << 20,
	},
	.probes = probes, .nr_probes = ARRAY_SIZE(probes),
	.families = families, .nr_families = ARRAY_SIZE(families),
};

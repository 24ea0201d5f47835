// SPDX-License-Identifier: GPL-2.0-or-later
/* What pass 3 makes of `probe begin { printf("hello world\n") }`, written by hand. */
#include "stapy.h"

static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out = stapy_print_begin(c);

	stapy_out_text(out, "hello world\n", 12);
	stapy_print_end(c);
}

static struct stapy_probe probes[] = {
	{ .handler = h_begin, .written = "begin", .alias = "begin", .place = "hello.stp:1:7" },
};

static struct stapy_begin_end_row begin_rows[] = {
	{ .site = { .probe = &probes[0], .point = "begin" }, .phase = STAPY_BEGIN },
};

static const struct stapy_family_rows families[] = {
	{ .family = &stapy_begin_end, .rows = begin_rows, .count = ARRAY_SIZE(begin_rows) },
};

struct stapy_session stapy_session = {
	.name = "stapy_hello",
	.script = "hello.stp",
	.manifest = "",
	.limits = {
		.maxaction = 1000,
		.maxaction_interruptible = 10000,
		.maxerrors = 0,
		.maxskipped = 100,
		.maxtrylock = 100,
		.trylockdelay = 10,
		.minstackspace = 1024,
		.maxstringlen = 512,
		.maxmapentries = 2048,
		.overload_threshold = 500000000,
		.overload_interval = 1000000000,
		.buffer_bytes = 2 << 20,
	},
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 64,
};

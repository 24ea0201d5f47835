// SPDX-License-Identifier: GPL-2.0-or-later
/* Sizes that no guest of the tests has memory for: a ring of 6 GB, 20 GB of lost output. */
#include "script.h"
#include "internal.h"

static void h_begin(struct stapy_context *c)
{
	struct stapy_ring *ring = &container_of(c, struct stapy_cpu, c)->ring;
	u64 seen = ring->tail_seen;

	/* As if the reader was so far ahead. */
	ring->tail_seen = ring->head + (6ULL << 30);
	say(c, "large %d\n", 1);
	ring->tail_seen = seen;
	ring->lost = (5ULL << 32) + 7;
}

static void h_end(struct stapy_context *c)
{
	say(c, "end\n");
}

static struct stapy_probe probes[] = {
	PROBE(h_begin, "begin"), PROBE(h_end, "end"),
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
	{ .site = { &probes[1], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS }, TABLES,
};

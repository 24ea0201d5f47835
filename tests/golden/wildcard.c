/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wildcard.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- arrays and statistics --- */

static struct stapy_map *g_hits;

static struct stapy_storage storage[] = {
	{
		.name = "hits",
		.map = &g_hits,
		.value = STAPY_LONG,
		.nkeys = 1,
		.keys = { STAPY_LONG },
	},
};

/* --- locks --- */

static struct stapy_lock lock_hits;

/* --- places of errors --- */

static const char at_4_2[] = "identifier 'hits' at wildcard.stp:4:2";
static const char at_8_2[] = "keyword at wildcard.stp:8:2";
static const char at_9_3[] = "identifier 'println' at wildcard.stp:9:3";

/* --- functions --- */

static inline s64 f_pid(struct stapy_context *c);

/* function pid at library.stp:14:10 */
static inline s64 f_pid(struct stapy_context *c) { return current->tgid; }

/* --- handlers --- */

static const struct stapy_lock_row locks_kernel_function_vfs_call[] = {
	{ &lock_hits, true, "hits" },
};

/*
 * probe at wildcard.stp:3:1:
 *   kernel.function("vfs_read").call
 *   kernel.function("vfs_readv").call
 *   kernel.function("vfs_write").call
 * locks: hits (write)
 */
static void h_kernel_function_vfs_call(struct stapy_context *c)
{
	union stapy_key keys[1];
	s64 *slot;

	if (!stapy_lock(c, locks_kernel_function_vfs_call,
			ARRAY_SIZE(locks_kernel_function_vfs_call)))
		return;

	/* wildcard.stp:4: hits[pid()]++ */
	keys[0].n = f_pid(c);
	slot = stapy_map_slot(c, g_hits, keys, at_4_2);
	if (!slot)
		goto out;
	(*slot)++;
out:
	stapy_unlock(c, locks_kernel_function_vfs_call, ARRAY_SIZE(locks_kernel_function_vfs_call));
}

/*
 * probe at wildcard.stp:7:1:
 *   end
 * locks: hits (write)
 */
static void h_end(struct stapy_context *c)
{
	union stapy_key keys[1];
	struct stapy_iter iter;
	struct stapy_out *out;
	s64 id = 0, hits;

	if (!stapy_lock(c, locks_kernel_function_vfs_call,
			ARRAY_SIZE(locks_kernel_function_vfs_call)))
		return;

	/* wildcard.stp:8: foreach (id in hits+) */
	if (!stapy_act(c, 1, at_8_2))
		goto out;
	stapy_iter_start(&iter, g_hits, 1, 0, false, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		id = stapy_iter_key_long(&iter, 0);

		/* wildcard.stp:9: println(id, " ", hits[id]) */
		if (!stapy_act(c, 2, at_9_3))
			goto out;
		keys[0].n = id;
		hits = stapy_map_get_long(g_hits, keys);
		out = stapy_print_begin(c);
		stapy_out_long(out, id, 'd', 0, 0, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_long(out, hits, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_kernel_function_vfs_call, ARRAY_SIZE(locks_kernel_function_vfs_call));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_kernel_function_vfs_call,
		.written = "kernel.function(\"vfs_*\").call",
		.alias = "kernel.function(\"vfs_*\").call",
		.place = "wildcard.stp:3:1",
	},
	[1] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = "wildcard.stp:7:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* end */
	{
		.site = { &probes[1], "end" },
		.phase = STAPY_END,
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read").call */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\").call" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
	/* kernel.function("vfs_readv").call */
	{
		.site = { &probes[0], "kernel.function(\"vfs_readv\").call" },
		.symbol = "vfs_readv",
		.few_registers = true,
	},
	/* kernel.function("vfs_write").call */
	{
		.site = { &probes[0], "kernel.function(\"vfs_write\").call" },
		.symbol = "vfs_write",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "wildcard",
	.script = "wildcard.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 0,
};

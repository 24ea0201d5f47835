/* SPDX-License-Identifier: GPL-2.0-or-later */
/* saved_parameters.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- types --- */

struct slots_n {
	s64 s0;
};

/* --- handlers --- */

/*
 * probe at saved_parameters.stp:1:1:
 *   kernel.function("vfs_write").return
 */
static void h_vfs_write_return(struct stapy_context *c)
{
	struct stapy_out *out;

	/* saved_parameters.stp:2: if ($return != $count) */
	if ((s64)c->regs->ax != ((struct slots_n *)c->slots)->s0) {
		/* saved_parameters.stp:3: printf("short write: %d of %d\n", $return, $count) */
		out = stapy_print_begin(c);
		stapy_out_text(out, "short write: ", 13);
		stapy_out_long(out, (s64)c->regs->ax, 'd', 0, 0, -1);
		stapy_out_text(out, " of ", 4);
		stapy_out_long(out, ((struct slots_n *)c->slots)->s0, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
}

/*
 * probe at saved_parameters.stp:1:1:
 *   kernel.function("vfs_write").return
 */
static void h_vfs_write_return_entry(struct stapy_context *c)
{
	/* saved_parameters.stp:2: if ($return != $count) */
	((struct slots_n *)c->slots)->s0 = (s64)c->regs->dx;
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_write_return,
		.entry = h_vfs_write_return_entry,
		.written = "kernel.function(\"vfs_write\").return",
		.alias = "kernel.function(\"vfs_write\").return",
		.place = "saved_parameters.stp:1:1",
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_write").return */
	{
		.site = { &probes[0], "kernel.function(\"vfs_write\").return" },
		.symbol = "vfs_write",
		.is_return = true,
		.slot_bytes = sizeof(struct slots_n),
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "saved_parameters",
	.script = "saved_parameters.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

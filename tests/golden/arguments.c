/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_2_30[] = "identifier '$seventh' at arguments.stp:2:30";
static const char at_2_45[] = "identifier '$eighth' at arguments.stp:2:45";

/* --- handlers --- */

/*
 * probe at arguments.stp:1:1:
 *   kernel.function("do_many")
 */
static void h_do_many(struct stapy_context *c)
{
	struct stapy_out *out;
	s32 seventh;
	u16 eighth;

	/* arguments.stp:2: println($a0, " ", $a5, " ", $seventh, " ", $eighth) */
	if (!stapy_read_kernel(c, &seventh, c->regs->sp + 8, sizeof(seventh), at_2_30))
		return;
	if (!stapy_read_kernel(c, &eighth, c->regs->sp + 16, sizeof(eighth), at_2_45))
		return;
	out = stapy_print_begin(c);
	stapy_out_long(out, (s64)c->regs->di, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, (s64)c->regs->r9, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, seventh, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, eighth, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/*
 * probe at arguments.stp:5:1:
 *   kernel.function("do_small")
 */
static void h_do_small(struct stapy_context *c)
{
	struct stapy_out *out;

	/* arguments.stp:6: println($s->a + $s->b, $n) */
	out = stapy_print_begin(c);
	stapy_out_long(out, (((s64)c->regs->di << 32) >> 32) + ((s64)c->regs->di >> 32), 'd', 0, 0,
			-1);
	stapy_out_long(out, (s32)c->regs->dx, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_do_many,
		.written = "kernel.function(\"do_many\")",
		.alias = "kernel.function(\"do_many\")",
		.place = "arguments.stp:1:1",
	},
	[1] = {
		.handler = h_do_small,
		.written = "kernel.function(\"do_small\")",
		.alias = "kernel.function(\"do_small\")",
		.place = "arguments.stp:5:1",
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("do_many") */
	{
		.site = { &probes[0], "kernel.function(\"do_many\")" },
		.symbol = "do_many",
		.few_registers = true,
	},
	/* kernel.function("do_small") */
	{
		.site = { &probes[1], "kernel.function(\"do_small\")" },
		.symbol = "do_small",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "arguments",
	.script = "arguments.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

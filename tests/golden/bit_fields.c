/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bit_fields.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_2_10[] = "identifier '$file' at bit_fields.stp:2:10";
static const char at_2_27[] = "identifier '$file' at bit_fields.stp:2:27";
static const char at_2_45[] = "identifier '$file' at bit_fields.stp:2:45";
static const char at_2_67[] = "identifier '$file' at bit_fields.stp:2:67";

/* --- handlers --- */

/*
 * probe at bit_fields.stp:1:1:
 *   kernel.function("vfs_read")
 */
static void h_vfs_read(struct stapy_context *c)
{
	struct stapy_out *out;
	s32 table, f_one_;
	u32 low, high;

	/* bit_fields.stp:2: println($file->low, " ", $file->high, " ", $file->table[2], " ", $f... */
	if (!stapy_read_kernel(c, &low, (s64)c->regs->di + 80 /* file.low */, sizeof(low), at_2_10))
		return;
	if (!stapy_read_kernel(c, &high, (s64)c->regs->di + 80 /* file.high */, sizeof(high),
			at_2_27))
		return;
	if (!stapy_read_kernel(c, &table, (s64)c->regs->di + 104 /* file.table */, sizeof(table),
			at_2_45))
		return;
	if (!stapy_read_kernel(c, &f_one_, (s64)c->regs->di + 8 /* file.f_one */, sizeof(f_one_),
			at_2_67))
		return;
	out = stapy_print_begin(c);
	stapy_out_long(out, (u64)low & 0x7, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, (s64)((u64)high << 56) >> 59, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, table, 'd', 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_long(out, f_one_, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "bit_fields.stp:1:1",
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read") */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\")" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "bit_fields",
	.script = "bit_fields.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

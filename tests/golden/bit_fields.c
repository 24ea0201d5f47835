/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bit_fields.stp, translated by stapy 0.1.0 */
#include "stapy.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- limits --- */

#define MAXSTRINGLEN 512
#define MAXACTION 1000
#define MAXACTION_INTERRUPTIBLE (MAXACTION * 10)
#define MAXERRORS 0
#define MAXSKIPPED 100
#define MAXTRYLOCK 100
#define TRYLOCKDELAY 10
#define MINSTACKSPACE 1024
#define MAXMAPENTRIES 2048
#define MAXBACKTRACE 20
#define INTERRUPTIBLE 1
#define STP_OVERLOAD_THRESHOLD 500000000
#define STP_OVERLOAD_INTERVAL 1000000000
#define MAXNESTING 1

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
	if (!stapy_read_kernel(c, &low, (s64)c->regs->di + 80, sizeof(low), at_2_10))
		return;
	if (!stapy_read_kernel(c, &high, (s64)c->regs->di + 80, sizeof(high), at_2_27))
		return;
	if (!stapy_read_kernel(c, &table, (s64)c->regs->di + 104, sizeof(table), at_2_45))
		return;
	if (!stapy_read_kernel(c, &f_one_, (s64)c->regs->di + 8, sizeof(f_one_), at_2_67))
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
	.limits = {
		.maxstringlen = MAXSTRINGLEN,
		.maxaction = MAXACTION,
		.maxaction_interruptible = MAXACTION_INTERRUPTIBLE,
		.maxerrors = MAXERRORS,
		.maxskipped = MAXSKIPPED,
		.maxtrylock = MAXTRYLOCK,
		.trylockdelay = TRYLOCKDELAY,
		.minstackspace = MINSTACKSPACE,
		.maxmapentries = MAXMAPENTRIES,
		.interruptible = INTERRUPTIBLE,
		.overload_threshold = STP_OVERLOAD_THRESHOLD,
		.overload_interval = STP_OVERLOAD_INTERVAL,
		.maxnesting = MAXNESTING,
		.buffer_bytes = 2097152,
	},
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

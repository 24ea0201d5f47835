/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guru_writes.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_4_2[] = "identifier '$file' at guru_writes.stp:4:2";
static const char at_5_2[] = "identifier '$file' at guru_writes.stp:5:2";
static const char at_6_2[] = "identifier '$file' at guru_writes.stp:6:2";

/* --- handlers --- */

/*
 * probe at guru_writes.stp:2:1:
 *   kernel.function("vfs_read")
 */
static void h_vfs_read(struct stapy_context *c)
{
	s64 address, f_pos_, new_2;
	u32 f_flags_, new;

	/* guru_writes.stp:3: $count = 10 */
	c->regs->dx = (s64)10;

	/* guru_writes.stp:4: $file->f_flags |= 64 */
	address = (s64)c->regs->di + 64 /* file.f_flags */;
	if (!stapy_read_kernel(c, &f_flags_, address, sizeof(f_flags_), at_4_2))
		return;
	new = (s64)f_flags_ | 64;
	if (!stapy_write_kernel(c, address, &new, sizeof(new), at_4_2))
		return;

	/* guru_writes.stp:5: $file->high = -3 */
	address = (s64)c->regs->di + 80 /* file.high */;
	if (!stapy_read_kernel(c, &new, address, sizeof(new), at_5_2))
		return;
	new = (new & ~0xf8ULL) | (((u64)-3 << 3) & 0xf8ULL);
	if (!stapy_write_kernel(c, address, &new, sizeof(new), at_5_2))
		return;

	/* guru_writes.stp:6: $file->f_pos++ */
	address = (s64)c->regs->di + 72 /* file.f_pos */;
	if (!stapy_read_kernel(c, &f_pos_, address, sizeof(f_pos_), at_6_2))
		return;
	new_2 = f_pos_ + 1;
	stapy_write_kernel(c, address, &new_2, sizeof(new_2), at_6_2);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "guru_writes.stp:2:1",
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
	.name = "guru_writes",
	.script = "guru_writes.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pretty.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_2_10[] = "identifier '$file$' at pretty.stp:2:10";

/* --- handlers --- */

/*
 * probe at pretty.stp:1:1:
 *   kernel.function("vfs_read")
 */
static void h_vfs_read(struct stapy_context *c)
{
	struct {
		char text[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out sink, *out;
	s32 file_2;
	s64 file_3;
	u32 file;

	/* pretty.stp:2: println($file$) */
	stapy_out_to(&sink, l->text, sizeof(l->text));
	stapy_out_text(&sink, "{.f_flags=", 10);
	if (!stapy_read_kernel(c, &file, (s64)c->regs->di + 64 /* file.f_flags */, sizeof(file),
			at_2_10))
		goto unreadable_1;
	stapy_out_long(&sink, file, 'd', 0, 0, -1);
	goto shown_2;
unreadable_1:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_2:
	stapy_out_text(&sink, ", .f_path={...}, {.f_one=", 25);
	if (!stapy_read_kernel(c, &file_2, (s64)c->regs->di + 8 /* file.f_one */, sizeof(file_2),
			at_2_10))
		goto unreadable_3;
	stapy_out_long(&sink, file_2, 'd', 0, 0, -1);
	goto shown_4;
unreadable_3:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_4:
	stapy_out_text(&sink, ", .f_two=", 9);
	if (!stapy_read_kernel(c, &file_3, (s64)c->regs->di + 8 /* file.f_two */, sizeof(file_3),
			at_2_10))
		goto unreadable_5;
	stapy_out_long(&sink, file_3, 'd', 0, 0, -1);
	goto shown_6;
unreadable_5:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_6:
	stapy_out_text(&sink, "}, .f_pos=", 10);
	if (!stapy_read_kernel(c, &file_3, (s64)c->regs->di + 72 /* file.f_pos */, sizeof(file_3),
			at_2_10))
		goto unreadable_7;
	stapy_out_long(&sink, file_3, 'd', 0, 0, -1);
	goto shown_8;
unreadable_7:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_8:
	stapy_out_text(&sink, ", .low=", 7);
	if (!stapy_read_kernel(c, &file, (s64)c->regs->di + 80 /* file.low */, sizeof(file),
			at_2_10))
		goto unreadable_9;
	stapy_out_long(&sink, (u64)file & 0x7, 'd', 0, 0, -1);
	goto shown_10;
unreadable_9:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_10:
	stapy_out_text(&sink, ", .high=", 8);
	if (!stapy_read_kernel(c, &file, (s64)c->regs->di + 80 /* file.high */, sizeof(file),
			at_2_10))
		goto unreadable_11;
	stapy_out_long(&sink, (s64)((u64)file << 56) >> 59, 'd', 0, 0, -1);
	goto shown_12;
unreadable_11:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_12:
	stapy_out_text(&sink, ", .table=[", 10);
	if (!stapy_read_kernel(c, &file_2, (s64)c->regs->di + 96 /* file.table */, sizeof(file_2),
			at_2_10))
		goto unreadable_13;
	stapy_out_long(&sink, file_2, 'd', 0, 0, -1);
	goto shown_14;
unreadable_13:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_14:
	stapy_out_text(&sink, ", ", 2);
	if (!stapy_read_kernel(c, &file_2, (s64)c->regs->di + 100 /* file.table */, sizeof(file_2),
			at_2_10))
		goto unreadable_15;
	stapy_out_long(&sink, file_2, 'd', 0, 0, -1);
	goto shown_16;
unreadable_15:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_16:
	stapy_out_text(&sink, ", ", 2);
	if (!stapy_read_kernel(c, &file_2, (s64)c->regs->di + 104 /* file.table */, sizeof(file_2),
			at_2_10))
		goto unreadable_17;
	stapy_out_long(&sink, file_2, 'd', 0, 0, -1);
	goto shown_18;
unreadable_17:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_18:
	stapy_out_text(&sink, ", ", 2);
	if (!stapy_read_kernel(c, &file_2, (s64)c->regs->di + 108 /* file.table */, sizeof(file_2),
			at_2_10))
		goto unreadable_19;
	stapy_out_long(&sink, file_2, 'd', 0, 0, -1);
	goto shown_20;
unreadable_19:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_20:
	stapy_out_text(&sink, "], .mode=", 9);
	if (!stapy_read_kernel(c, &file, (s64)c->regs->di + 112 /* file.mode */, sizeof(file),
			at_2_10))
		goto unreadable_21;
	stapy_out_long(&sink, file, 'd', 0, 0, -1);
	goto shown_22;
unreadable_21:
	stapy_caught(c);
	stapy_out_text(&sink, "?", 1);
shown_22:
	stapy_out_text(&sink, "}", 1);
	stapy_out_finish(&sink);
	out = stapy_print_begin(c);
	stapy_out_string(out, l->text, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* pretty.stp:3: println($$vars) */
	stapy_out_to(&sink, l->text, sizeof(l->text));
	stapy_out_text(&sink, "file=", 5);
	stapy_out_long(&sink, (s64)c->regs->di, 'p', 0, 0, -1);
	stapy_out_text(&sink, " buf=", 5);
	stapy_out_long(&sink, (s64)c->regs->si, 'p', 0, 0, -1);
	stapy_out_text(&sink, " count=", 7);
	stapy_out_long(&sink, (s64)c->regs->dx, 'x', STAPY_F_ALT, 0, -1);
	stapy_out_finish(&sink);
	out = stapy_print_begin(c);
	stapy_out_string(out, l->text, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "pretty.stp:1:1",
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
	.name = "pretty",
	.script = "pretty.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 512,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory_dump.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_2_23[] = "identifier '$file' at memory_dump.stp:2:23";
static const char at_2_30[] = "identifier '$file' at memory_dump.stp:2:30";
static const char at_3_22[] = "identifier '$buf' at memory_dump.stp:3:22";

/* --- handlers --- */

/*
 * probe at memory_dump.stp:1:1:
 *   kernel.function("vfs_read")
 */
static void h_vfs_read(struct stapy_context *c)
{
	struct {
		char s[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out, sink;

	l->s[0] = '\0';

	/* memory_dump.stp:2: printf("%16M %8m\n", $file, $file) */
	out = stapy_print_begin(c);
	if (!stapy_out_memory(c, out, (s64)c->regs->di, true, 0, 16, -1, at_2_23))
		return;
	stapy_out_text(out, " ", 1);
	if (!stapy_out_memory(c, out, (s64)c->regs->di, false, 0, 8, -1, at_2_30))
		return;
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* memory_dump.stp:3: s = sprintf("%#4M", $buf) */
	stapy_out_to(&sink, l->s, sizeof(l->s));
	if (!stapy_out_memory(c, &sink, (s64)c->regs->si, true, STAPY_F_ALT, 4, -1, at_3_22))
		return;
	stapy_out_finish(&sink);

	/* memory_dump.stp:4: println(s) */
	out = stapy_print_begin(c);
	stapy_out_string(out, l->s, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "memory_dump.stp:1:1",
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
	.name = "memory_dump",
	.script = "memory_dump.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 512,
};

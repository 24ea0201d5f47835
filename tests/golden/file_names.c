/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_names.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_2_44[] = "operator '->' at file_names.stp:2:44";
static const char at_2_23[] = "identifier '$file' at file_names.stp:2:23";
static const char at_2_9[] = "identifier 'kernel_string' at file_names.stp:2:9";
static const char at_library_26_10[] = "identifier 'kernel_string' at library.stp:26:10";

/* --- functions --- */

static void f_kernel_string(struct stapy_context *c, char *ret, s64 addr);
static void f_execname(struct stapy_context *c, char *ret);

/* function kernel_string at library.stp:26:10 */
static void f_kernel_string(struct stapy_context *c, char *ret, s64 addr)
{
	__label__ out, deref_fault;

	ret[0] = '\0';
#define STAP_ARG_addr addr
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 26 "library.stp"
 /* pure */
	if (stapy_peek_kernel_string(STAP_RETVALUE, STAP_ARG_addr, MAXSTRINGLEN) < 0)
		STAP_ERROR("kernel string copy fault at 0x%p", (void *)(long)STAP_ARG_addr);
#line 35 "file_names.c"
	}
#undef STAP_ARG_addr
#undef STAP_RETVALUE
deref_fault: __maybe_unused;
out: __maybe_unused;
	if (unlikely(c->error))
		stapy_error_at(c, at_library_26_10);
}

/* function execname at library.stp:10:10 */
static void f_execname(struct stapy_context *c, char *ret)
{
	ret[0] = '\0';
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 10 "library.stp"
 /* pure */ /* stable */
	stapy_copy(STAP_RETVALUE, current->comm, MAXSTRINGLEN);
#line 54 "file_names.c"
	}
#undef STAP_RETVALUE
}

/* --- handlers --- */

/*
 * probe at file_names.stp:1:1:
 *   kernel.function("vfs_read")
 *   kernel.function("vfs_write")
 */
static void h_vfs_read(struct stapy_context *c)
{
	struct {
		char name[MAXSTRINGLEN];
		char text[MAXSTRINGLEN];
		char text_2[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out sink, *out;
	s64 d_name, name_2;

	l->name[0] = '\0';

	/* file_names.stp:2: name = kernel_string($file->f_path->dentry->d_name->name) */
	if (!stapy_read_kernel(c, &d_name, (s64)c->regs->di + 24 /* file.f_path.dentry */,
			sizeof(d_name), at_2_44))
		return;
	if (!stapy_read_kernel(c, &name_2, d_name + 40 /* dentry.d_name.name */, sizeof(name_2),
			at_2_23))
		return;
	f_kernel_string(c, l->name, name_2);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_2_9);
		return;
	}

	/* file_names.stp:3: if (name == "") */
	if (stapy_compare(l->name, "") == 0) {
		/* file_names.stp:4: next */
		return;
	}

	/* file_names.stp:5: printf("%s %s %s\n", execname(), name, $$parms) */
	f_execname(c, l->text);
	stapy_out_to(&sink, l->text_2, sizeof(l->text_2));
	stapy_out_text(&sink, "file=", 5);
	stapy_out_long(&sink, (s64)c->regs->di, 'p', 0, 0, -1);
	stapy_out_text(&sink, " buf=", 5);
	stapy_out_long(&sink, (s64)c->regs->si, 'p', 0, 0, -1);
	stapy_out_text(&sink, " count=", 7);
	stapy_out_long(&sink, (s64)c->regs->dx, 'x', STAPY_F_ALT, 0, -1);
	stapy_out_finish(&sink);
	out = stapy_print_begin(c);
	stapy_out_string(out, l->text, 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_string(out, l->name, 0, 0, -1);
	stapy_out_text(out, " ", 1);
	stapy_out_string(out, l->text_2, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\"),kernel.function(\"vfs_write\")",
		.alias = "kernel.function(\"vfs_read\")",
		.place = "file_names.stp:1:1",
	},
	[1] = {
		.handler = h_vfs_read,
		.written = "kernel.function(\"vfs_read\"),kernel.function(\"vfs_write\")",
		.alias = "kernel.function(\"vfs_write\")",
		.place = "file_names.stp:1:1",
	},
};

static struct stapy_kprobe_row kprobe_rows[] = {
	/* kernel.function("vfs_read") */
	{
		.site = { &probes[0], "kernel.function(\"vfs_read\")" },
		.symbol = "vfs_read",
		.few_registers = true,
	},
	/* kernel.function("vfs_write") */
	{
		.site = { &probes[1], "kernel.function(\"vfs_write\")" },
		.symbol = "vfs_write",
		.few_registers = true,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_kprobe, kprobe_rows, ARRAY_SIZE(kprobe_rows) },
};

struct stapy_session stapy_session = {
	.name = "file_names",
	.script = "file_names.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 1536,
};

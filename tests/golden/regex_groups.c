/* SPDX-License-Identifier: GPL-2.0-or-later */
/* regex_groups.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- places of errors --- */

static const char at_8_11[] = "identifier 'matched' at regex_groups.stp:8:11";
static const char at_8_28[] = "identifier 'matched' at regex_groups.stp:8:28";
static const char at_8_45[] = "identifier 'matched' at regex_groups.stp:8:45";
static const char at_library_31_10[] = "identifier 'matched' at library.stp:31:10";

/* --- regular expressions --- */

static const u8 regex_1_classes[] = {
	0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
	4, 4, 4, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};

static const u16 regex_1_next[] = {
	0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 0, 1, 3, 1, 2, 0, 1, 1, 4, 2, 0, 0, 0, 4, 0,
};

static const u8 regex_1_accept[] = {
	0, 0, 0, 0, 3,
};

static const u16 regex_1_moves[] = {
	0, 0, 0, 0, 0, 0, 1, 1, 1, 4, 0, 1, 7, 1, 4, 0, 1, 1, 10, 13, 0, 0, 0, 10, 0,
};

static const u8 regex_1_commands[] = {
	255, 0, 254, 255, 1, 254, 255, 2, 254, 255, 3, 254, 255, 0, 2, 1, 254, 255,
};

static const u16 regex_1_finals[] = {
	0, 0, 0, 0, 6,
};

static const u16 regex_1_ends[] = {
	0, 0, 0, 0, 6,
};

static const u8 regex_1_tags[] = {
	255, 255, 255, 255, 255, 255, 0, 3, 0, 1, 2, 3,
};

static const struct stapy_regex regex_1 = {
	.classes = regex_1_classes,
	.next = regex_1_next,
	.accept = regex_1_accept,
	.nclasses = 5,
	.moves = regex_1_moves,
	.commands = regex_1_commands,
	.finals = regex_1_finals,
	.ends = regex_1_ends,
	.tags = regex_1_tags,
	.start_moves = 1,
	.groups = 2,
};

/* --- functions --- */

static s64 f_parse(struct stapy_context *c, const char *s);
static void f_matched(struct stapy_context *c, char *ret, s64 n);

/* function parse at regex_groups.stp:1:10 */
static s64 f_parse(struct stapy_context *c, const char *s)
{
	s64 ret = 0, matches;

	/* regex_groups.stp:2: if (s =~ "([a-z]+)/([0-9]+)") return 1 */
	matches = stapy_regex_match(c, &regex_1, s);
	if (matches) {
		ret = 1;
		goto out;
	}

	/* regex_groups.stp:3: return 0 */
	ret = 0;
out:
	return ret;
}

/* function matched at library.stp:31:10 */
static void f_matched(struct stapy_context *c, char *ret, s64 n)
{
	__label__ out, deref_fault;

	ret[0] = '\0';
#define STAP_ARG_n n
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 31 "library.stp"

	if (!stapy_matched(c, STAP_RETVALUE, MAXSTRINGLEN, STAP_ARG_n))
		STAP_ERROR("no group %lld", (long long)STAP_ARG_n);
#line 109 "regex_groups.c"
	}
#undef STAP_ARG_n
#undef STAP_RETVALUE
deref_fault: __maybe_unused;
out: __maybe_unused;
	if (unlikely(c->error))
		stapy_error_at(c, at_library_31_10);
}

/* --- handlers --- */

/*
 * probe at regex_groups.stp:6:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char match[sizeof(struct stapy_match) + MAXSTRINGLEN] __aligned(8);
		char text[MAXSTRINGLEN];
		char text_2[MAXSTRINGLEN];
		char text_3[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out;
	s64 parse;

	stapy_remember_match(c, (struct stapy_match *)l->match);

	/* regex_groups.stp:7: if (parse("kworker/3:1")) */
	parse = f_parse(c, "kworker/3:1");
	if (parse) {
		/* regex_groups.stp:8: println(matched(0), " ", matched(1), " ", matched(2)) */
		f_matched(c, l->text, 0);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_8_11);
			return;
		}
		f_matched(c, l->text_2, 1);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_8_28);
			return;
		}
		f_matched(c, l->text_3, 2);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_8_45);
			return;
		}
		out = stapy_print_begin(c);
		stapy_out_string(out, l->text, 0, 0, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_string(out, l->text_2, 0, 0, -1);
		stapy_out_text(out, " ", 1);
		stapy_out_string(out, l->text_3, 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "regex_groups.stp:6:1",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* begin */
	{
		.site = { &probes[0], "begin" },
		.phase = STAPY_BEGIN,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
};

struct stapy_session stapy_session = {
	.name = "regex_groups",
	.script = "regex_groups.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 2120,
};

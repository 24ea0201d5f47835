/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strings.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static char g_last[MAXSTRINGLEN] = "none";

/* --- locks --- */

static struct stapy_lock lock_last;

/* --- functions --- */

static void f_twice(struct stapy_context *c, char *ret, const char *s_arg);

/* function twice at strings.stp:3:10 */
static void f_twice(struct stapy_context *c, char *ret, const char *s_arg)
{
	struct {
		char s[MAXSTRINGLEN];
		char text[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));

	ret[0] = '\0';
	stapy_copy(l->s, s_arg, sizeof(l->s));

	/* strings.stp:4: s = s . s */
	stapy_concat(l->text, l->s, l->s, sizeof(l->text));
	stapy_copy(l->s, l->text, sizeof(l->s));

	/* strings.stp:5: return s */
	stapy_copy(ret, l->s, MAXSTRINGLEN);
	c->frame = (char *)l;
}

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_last, true, "last" },
};

/*
 * probe at strings.stp:8:1:
 *   begin
 * locks: last (write)
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char s[MAXSTRINGLEN];
		char text[MAXSTRINGLEN];
		char text_2[MAXSTRINGLEN];
		char text_3[MAXSTRINGLEN];
		char text_4[MAXSTRINGLEN];
		char text_5[MAXSTRINGLEN];
		char t[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out sink, *out;
	s64 both;

	l->s[0] = '\0';
	l->t[0] = '\0';

	/* strings.stp:9: s = "a" . "b" */
	stapy_copy(l->s, "ab", sizeof(l->s));

	/* strings.stp:10: s .= sprint(1, "-", 2) */
	stapy_out_to(&sink, l->text, sizeof(l->text));
	stapy_out_text(&sink, "1-2", 3);
	stapy_out_finish(&sink);
	stapy_concat(l->s, l->s, l->text, sizeof(l->s));

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* strings.stp:11: s = s . "/" . last . "/" . twice(s) */
	stapy_concat(l->text, l->s, "/", sizeof(l->text));
	stapy_concat(l->text_2, l->text, g_last, sizeof(l->text_2));
	stapy_concat(l->text_3, l->text_2, "/", sizeof(l->text_3));
	f_twice(c, l->text_4, l->s);
	stapy_concat(l->text_5, l->text_3, l->text_4, sizeof(l->text_5));
	stapy_copy(l->s, l->text_5, sizeof(l->s));

	/* strings.stp:12: last = s */
	stapy_copy(g_last, l->s, sizeof(g_last));

	/* strings.stp:13: if (s >= last && s != "x" . last) */
	both = stapy_compare(l->s, g_last) >= 0;
	if (both) {
		stapy_concat(l->text, "x", g_last, sizeof(l->text));
		both = stapy_compare(l->s, l->text) != 0;
	}
	if (both) {
		/* strings.stp:14: println(s) */
		out = stapy_print_begin(c);
		stapy_out_string(out, l->s, 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
	}

	/* strings.stp:15: t = sprintf("%5d|%-8s|%x", 42, s, 255) */
	stapy_out_to(&sink, l->t, sizeof(l->t));
	stapy_out_long(&sink, 42, 'd', 0, 5, -1);
	stapy_out_text(&sink, "|", 1);
	stapy_out_string(&sink, l->s, STAPY_F_LEFT, 8, -1);
	stapy_out_text(&sink, "|", 1);
	stapy_out_long(&sink, 255, 'x', 0, 0, -1);
	stapy_out_finish(&sink);

	/* strings.stp:16: t = twice(twice(t)) */
	f_twice(c, l->text_3, l->t);
	f_twice(c, l->text_2, l->text_3);
	stapy_copy(l->t, l->text_2, sizeof(l->t));

	/* strings.stp:17: println(t == "" ? "empty" : t) */
	out = stapy_print_begin(c);
	stapy_out_string(out, stapy_compare(l->t, "") == 0 ? "empty" : l->t, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "strings.stp:8:1",
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
	.name = "strings",
	.script = "strings.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 4608,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* try_catch.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- limits --- */

#undef MAXNESTING
#define MAXNESTING 2

/* --- globals --- */

static s64 g_denominator;

/* --- places of errors --- */

static const char at_9_2[] = "keyword at try_catch.stp:9:2";
static const char at_10_3[] = "keyword at try_catch.stp:10:3";
static const char at_11_4[] = "identifier 'println' at try_catch.stp:11:4";
static const char at_11_12[] = "identifier 'risky' at try_catch.stp:11:12";
static const char at_13_4[] = "identifier 'println' at try_catch.stp:13:4";
static const char at_14_4[] = "identifier 'error' at try_catch.stp:14:4";
static const char at_17_3[] = "identifier 'println' at try_catch.stp:17:3";
static const char at_19_7[] = "identifier 'i' at try_catch.stp:19:7";
static const char at_20_3[] = "keyword at try_catch.stp:20:3";
static const char at_20_9[] = "keyword at try_catch.stp:20:9";
static const char at_20_31[] = "identifier 'println' at try_catch.stp:20:31";
static const char at_20_39[] = "identifier 'risky' at try_catch.stp:20:39";
static const char at_22_2[] = "keyword at try_catch.stp:22:2";
static const char at_22_8[] = "identifier 'println' at try_catch.stp:22:8";
static const char at_22_41[] = "identifier 'println' at try_catch.stp:22:41";
static const char at_4_13[] = "identifier 'error' at try_catch.stp:4:13";
static const char at_5_12[] = "operator '/' at try_catch.stp:5:12";
static const char at_library_6_10[] = "identifier 'error' at library.stp:6:10";

/* --- functions --- */

static s64 f_risky(struct stapy_context *c, s64 n);
static void f_error(struct stapy_context *c, const char *msg);

/* function risky at try_catch.stp:3:10 */
static s64 f_risky(struct stapy_context *c, s64 n)
{
	s64 ret = 0, quotient;

	/* try_catch.stp:4: if (n > 3) error("too much") */
	if (n > 3) {
		f_error(c, "too much");
		if (unlikely(c->error)) {
			stapy_called_from(c, at_4_13);
			goto out;
		}
	}

	/* try_catch.stp:5: return 10 / denominator */
	if (!stapy_divide(c, 10, g_denominator, &quotient, at_5_12))
		goto out;
	ret = quotient;
out:
	return ret;
}

/* function error at library.stp:6:10 */
static void f_error(struct stapy_context *c, const char *msg)
{
	__label__ out, deref_fault;
	struct {
		char msg[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));

	stapy_copy(l->msg, msg, sizeof(l->msg));
#define STAP_ARG_msg (l->msg)
	{
#line 6 "library.stp"
 /* unprivileged */
	STAP_ERROR("%s", STAP_ARG_msg);
#line 81 "try_catch.c"
	}
#undef STAP_ARG_msg
deref_fault: __maybe_unused;
out: __maybe_unused;
	if (unlikely(c->error))
		stapy_error_at(c, at_library_6_10);
	c->frame = (char *)l;
}

/* --- handlers --- */

/*
 * probe at try_catch.stp:8:1:
 *   begin
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char inner[MAXSTRINGLEN];
		char message[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_out *out;
	s64 i = 0, risky;

	l->inner[0] = '\0';
	l->message[0] = '\0';

	/* try_catch.stp:9: try { */
	if (!stapy_act(c, 1, at_9_2))
		return;

	/* try_catch.stp:10: try { */
	if (!stapy_act(c, 1, at_10_3))
		goto caught_1;

	/* try_catch.stp:11: println(risky(1)) */
	if (!stapy_act(c, 5, at_11_4))
		goto caught_2;
	risky = f_risky(c, 1);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_11_12);
		goto caught_2;
	}
	out = stapy_print_begin(c);
	stapy_out_long(out, risky, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
	goto done_3;
caught_2:
	if (unlikely(stapy_is_fatal(c)))
		goto caught_1;
	stapy_copy(l->inner, c->error, sizeof(l->inner));
	stapy_caught(c);

	/* try_catch.stp:13: println("inner: ", inner) */
	if (!stapy_act(c, 3, at_13_4))
		goto caught_1;
	out = stapy_print_begin(c);
	stapy_out_text(out, "inner: ", 7);
	stapy_out_string(out, l->inner, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* try_catch.stp:14: error("again") */
	f_error(c, "again");
	if (unlikely(c->error)) {
		stapy_called_from(c, at_14_4);
		goto caught_1;
	}
done_3:
	goto done_4;
caught_1:
	if (unlikely(stapy_is_fatal(c)))
		return;
	stapy_copy(l->message, c->error, sizeof(l->message));
	stapy_caught(c);

	/* try_catch.stp:17: println("outer: ", message) */
	if (!stapy_act(c, 1, at_17_3))
		return;
	out = stapy_print_begin(c);
	stapy_out_text(out, "outer: ", 7);
	stapy_out_string(out, l->message, 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);
done_4:

	/* try_catch.stp:19: for (i = 0; i < 3; i++) { */
	if (!stapy_act(c, 2, at_19_7))
		return;
	i = 0;
	for (; i < 3; i++) {
		/* try_catch.stp:20: try { if (i == 1) continue; println(risky(i)) } catch { break } */
		if (!stapy_act(c, 2, at_20_3))
			return;
		if (!stapy_act(c, 1, at_20_9))
			goto caught_5;
		if (i == 1)
			continue;
		if (!stapy_act(c, 5, at_20_31))
			goto caught_5;
		risky = f_risky(c, i);
		if (unlikely(c->error)) {
			stapy_called_from(c, at_20_39);
			goto caught_5;
		}
		out = stapy_print_begin(c);
		stapy_out_long(out, risky, 'd', 0, 0, -1);
		stapy_out_text(out, "\n", 1);
		stapy_print_end(c);
		goto done_6;
caught_5:
		if (unlikely(stapy_is_fatal(c)))
			return;
		stapy_caught(c);
		break;
done_6: ;
	}

	/* try_catch.stp:22: try { println("cannot fail") } catch { println("unreachable") } */
	if (!stapy_act(c, 1, at_22_2))
		return;
	if (!stapy_act(c, 1, at_22_8))
		goto caught_7;
	out = stapy_print_begin(c);
	stapy_out_text(out, "cannot fail\n", 12);
	stapy_print_end(c);
	goto done_8;
caught_7:
	if (unlikely(stapy_is_fatal(c)))
		return;
	stapy_caught(c);
	if (!stapy_act(c, 1, at_22_41))
		return;
	out = stapy_print_begin(c);
	stapy_out_text(out, "unreachable\n", 12);
	stapy_print_end(c);
done_8: ;
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "try_catch.stp:8:1",
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
	.name = "try_catch",
	.script = "try_catch.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 1536,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* embedded.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- embedded C --- */

#line 2 "embedded.stp"

static int twice(int x)
{
	return 2 * x;
}

#line 19 "embedded.c"

/* --- globals --- */

static s64 g_calls;

/* --- arrays and statistics --- */

static struct stapy_map *g_names;

static struct stapy_storage storage[] = {
	{
		.name = "names",
		.map = &g_names,
		.value = STAPY_STRING,
		.nkeys = 1,
		.keys = { STAPY_LONG },
		.value_bytes = 8,
	},
};

/* --- locks --- */

static struct stapy_lock lock_calls;
static struct stapy_lock lock_names;

/* --- places of errors --- */

static const char at_30_2[] = "identifier 'count' at embedded.stp:30:2";
static const char at_31_18[] = "identifier 'join' at embedded.stp:31:18";
static const char at_36_2[] = "identifier 'names' at embedded.stp:36:2";
static const char at_21_10[] = "identifier 'count' at embedded.stp:21:10";
static const char at_15_10[] = "identifier 'join' at embedded.stp:15:10";

/* --- functions --- */

static void f_count(struct stapy_context *c);
static s64 f_two(struct stapy_context *c, s64 x);
static void f_join(struct stapy_context *c, char *ret, const char *a, const char *b);
static s64 f_old(struct stapy_context *c, s64 v_2);

/* function count at embedded.stp:21:10 */
static void f_count(struct stapy_context *c)
{
	__label__ out, deref_fault;

#define STAP_GLOBAL_GET_calls() (g_calls)
#define STAP_GLOBAL_SET_calls(v) (g_calls = (v))
	{
#line 21 "embedded.stp"
                    /* pragma:read:calls */ /* pragma:write:calls */
	STAP_GLOBAL_SET_calls(STAP_GLOBAL_GET_calls() + 1);
#line 71 "embedded.c"
	}
#undef STAP_GLOBAL_GET_calls
#undef STAP_GLOBAL_SET_calls
deref_fault: __maybe_unused;
out: __maybe_unused;
	if (unlikely(c->error))
		stapy_error_at(c, at_21_10);
}

/* function two at embedded.stp:11:10 */
static s64 f_two(struct stapy_context *c, s64 x)
{
	s64 ret = 0;

#define STAP_ARG_x x
#define STAP_RETVALUE ret
	{
#line 11 "embedded.stp"
                             /* pure */
	STAP_RETVALUE = twice(STAP_ARG_x);
#line 92 "embedded.c"
	}
#undef STAP_ARG_x
#undef STAP_RETVALUE
	return ret;
}

/* function join at embedded.stp:15:10 */
static void f_join(struct stapy_context *c, char *ret, const char *a, const char *b)
{
	__label__ out, deref_fault;
	struct {
		char a[MAXSTRINGLEN];
		char b[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));

	ret[0] = '\0';
	stapy_copy(l->a, a, sizeof(l->a));
	stapy_copy(l->b, b, sizeof(l->b));
#define STAP_ARG_a (l->a)
#define STAP_ARG_b (l->b)
#define STAP_RETVALUE (*(char (*)[MAXSTRINGLEN])ret)
	{
#line 15 "embedded.stp"

	if (!STAP_ARG_a[0])
		STAP_ERROR("nothing to join");
	snprintf(STAP_RETVALUE, MAXSTRINGLEN, "%s/%s", STAP_ARG_a, STAP_ARG_b);
#line 120 "embedded.c"
	}
#undef STAP_ARG_a
#undef STAP_ARG_b
#undef STAP_RETVALUE
deref_fault: __maybe_unused;
out: __maybe_unused;
	if (unlikely(c->error))
		stapy_error_at(c, at_15_10);
	c->frame = (char *)l;
}

/* function old at embedded.stp:25:10 */
static s64 f_old(struct stapy_context *c, s64 v_2)
{
	struct {
		s64 v;
		s64 __retvalue;
	} this_one = { .v = v_2 };
	typeof(this_one) *THIS __maybe_unused = &this_one;

	{
#line 25 "embedded.stp"
                             /* unmangled */
	THIS->__retvalue = THIS->v + 1;
#line 145 "embedded.c"
	}
	return THIS->__retvalue;
}

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_calls, true, "calls" },
	{ &lock_names, true, "names" },
};

/*
 * probe at embedded.stp:29:1:
 *   begin
 * locks: calls (write), names (write)
 */
static void h_begin(struct stapy_context *c)
{
	struct {
		char text[MAXSTRINGLEN];
	} *l = stapy_frame(c, sizeof(*l));
	union stapy_key keys[1];
	struct stapy_out *out;
	s64 j = 0, two, old, embedded;

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* embedded.stp:30: count() */
	f_count(c);
	if (unlikely(c->error)) {
		stapy_called_from(c, at_30_2);
		goto out;
	}

	/* embedded.stp:31: println(two(4), join("a", "b"), old(1), calls) */
	two = f_two(c, 4);
	f_join(c, l->text, "a", "b");
	if (unlikely(c->error)) {
		stapy_called_from(c, at_31_18);
		goto out;
	}
	old = f_old(c, 1);
	out = stapy_print_begin(c);
	stapy_out_long(out, two, 'd', 0, 0, -1);
	stapy_out_string(out, l->text, 0, 0, -1);
	stapy_out_long(out, old, 'd', 0, 0, -1);
	stapy_out_long(out, g_calls, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* embedded.stp:32: j = %{ jiffies %} */
	{
embedded = (
#line 32 "embedded.stp"
	       jiffies);
#line 202 "embedded.c"
	}
	j = embedded;

	/* embedded.stp:33: %{ */
	{
#line 33 "embedded.stp"

	STAP_PRINTF("from C\n");
;
#line 212 "embedded.c"
	}

	/* embedded.stp:36: names[j] = "x" */
	keys[0].n = j;
	stapy_map_set_string(c, g_names, keys, "x", at_36_2);
out:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

static const struct stapy_lock_row locks_end[] = {
	{ &lock_names, true, "names" },
};

/*
 *   end
 * locks: names (write)
 */
static void h_end(struct stapy_context *c)
{
	struct {
		char val[8];
	} *l = stapy_frame(c, sizeof(*l));
	struct stapy_iter iter;
	struct stapy_out *out;
	s64 idx0 = 0;

	l->val[0] = '\0';
	if (!stapy_lock(c, locks_end, ARRAY_SIZE(locks_end)))
		return;

	if (!stapy_act(c, 1, NULL))
		goto out;
	stapy_iter_start(&iter, g_names, 1, 0, true, -1, NULL, NULL);
	while (stapy_iter_next(&iter)) {
		idx0 = stapy_iter_key_long(&iter, 0);
		stapy_copy(l->val, stapy_iter_string(&iter), sizeof(l->val));
		if (!stapy_act(c, 2, NULL))
			goto out;
		out = stapy_print_begin(c);
		stapy_out_text(out, "names[", 6);
		stapy_out_long(out, idx0, 'd', 0, 0, -1);
		stapy_out_text(out, "]=\"", 3);
		stapy_out_string(out, l->val, 0, 0, -1);
		stapy_out_text(out, "\"\n", 2);
		stapy_print_end(c);
	}
out:
	stapy_unlock(c, locks_end, ARRAY_SIZE(locks_end));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "embedded.stp:29:1",
	},
	[1] = {
		.handler = h_end,
		.written = "end",
		.alias = "end",
		.place = ":0:0",
	},
};

static struct stapy_begin_end_row begin_end_rows[] = {
	/* begin */
	{
		.site = { &probes[0], "begin" },
		.phase = STAPY_BEGIN,
	},
	/* end */
	{
		.site = { &probes[1], "end" },
		.phase = STAPY_END,
	},
};

/* --- the session --- */

static const struct stapy_family_rows families[] = {
	{ &stapy_begin_end, begin_end_rows, ARRAY_SIZE(begin_end_rows) },
};

struct stapy_session stapy_session = {
	.name = "embedded",
	.script = "embedded.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.frame_bytes = 1536,
};

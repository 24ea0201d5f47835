/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arithmetic.stp, translated by stapy 0.1.0 */
#include "stapy.h"
#include "defaults.h"

/* A text is no number: what embedded C mixes up must not become an address. */
#pragma GCC diagnostic error "-Wint-conversion"

/* --- globals --- */

static s64 g_a = 7;
static s64 g_b = -3;
static s64 g_zero;

/* --- locks --- */

static struct stapy_lock lock_a;
static struct stapy_lock lock_b;

/* --- places of errors --- */

static const char at_4_33[] = "operator '/' at arithmetic.stp:4:33";
static const char at_4_40[] = "operator '%' at arithmetic.stp:4:40";
static const char at_6_50[] = "operator '/' at arithmetic.stp:6:50";
static const char at_8_22[] = "operator '/=' at arithmetic.stp:8:22";

/* --- handlers --- */

static const struct stapy_lock_row locks_begin[] = {
	{ &lock_a, true, "a" },
	{ &lock_b, true, "b" },
};

/*
 * probe at arithmetic.stp:3:1:
 *   begin
 * locks: a (write), b (write)
 */
static void h_begin(struct stapy_context *c)
{
	struct stapy_out *out;
	s64 x = 0, quotient, remainder, either;

	if (!stapy_lock(c, locks_begin, ARRAY_SIZE(locks_begin)))
		return;

	/* arithmetic.stp:4: println(a + b * 2 - (a - b), a / b, a % b, -a, ~b, !a) */
	if (!stapy_divide(c, g_a, g_b, &quotient, at_4_33))
		goto out;
	if (!stapy_modulo(c, g_a, g_b, &remainder, at_4_40))
		goto out;
	out = stapy_print_begin(c);
	stapy_out_long(out, g_a + g_b * 2 - (g_a - g_b), 'd', 0, 0, -1);
	stapy_out_long(out, quotient, 'd', 0, 0, -1);
	stapy_out_long(out, remainder, 'd', 0, 0, -1);
	stapy_out_long(out, -g_a, 'd', 0, 0, -1);
	stapy_out_long(out, ~g_b, 'd', 0, 0, -1);
	stapy_out_long(out, !g_a, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* arithmetic.stp:5: println(a & b | a ^ b, a << 3, a >> b, a / 2, a % 8) */
	out = stapy_print_begin(c);
	stapy_out_long(out, (g_a & g_b) | (g_a ^ g_b), 'd', 0, 0, -1);
	stapy_out_long(out, g_a << 3, 'd', 0, 0, -1);
	stapy_out_long(out, g_a >> (g_b & 63), 'd', 0, 0, -1);
	stapy_out_long(out, g_a / 2, 'd', 0, 0, -1);
	stapy_out_long(out, g_a % 8, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* arithmetic.stp:6: println(a < b, a <= b && b != 0, a == 7 || zero / zero) */
	either = g_a == 7;
	if (!either) {
		if (!stapy_divide(c, g_zero, g_zero, &quotient, at_6_50))
			goto out;
		either = quotient != 0;
	}
	out = stapy_print_begin(c);
	stapy_out_long(out, g_a < g_b, 'd', 0, 0, -1);
	stapy_out_long(out, g_a <= g_b && g_b != 0, 'd', 0, 0, -1);
	stapy_out_long(out, either, 'd', 0, 0, -1);
	stapy_out_text(out, "\n", 1);
	stapy_print_end(c);

	/* arithmetic.stp:7: x = 0x7fffffffffffffff + a */
	x = 9223372036854775807LL + g_a;

	/* arithmetic.stp:8: x <<= 2; x >>= a; x /= b; x %= 5; x &= 0xff; x ^= b; x |= 1 << 40 */
	x <<= 2;
	x >>= g_a & 63;
	if (!stapy_divide(c, x, g_b, &x, at_8_22))
		goto out;
	x %= 5;
	x &= 255;
	x ^= g_b;
	x |= 1099511627776LL;

	/* arithmetic.stp:9: println(x, a > b ? a : b, -9223372036854775808) */
	out = stapy_print_begin(c);
	stapy_out_long(out, x, 'd', 0, 0, -1);
	stapy_out_long(out, g_a > g_b ? g_a : g_b, 'd', 0, 0, -1);
	stapy_out_text(out, "-9223372036854775808\n", 21);
	stapy_print_end(c);

	/* arithmetic.stp:10: a = b = x */
	g_b = x;
	g_a = g_b;
out:
	stapy_unlock(c, locks_begin, ARRAY_SIZE(locks_begin));
}

/* --- probes --- */

static struct stapy_probe probes[] = {
	[0] = {
		.handler = h_begin,
		.written = "begin",
		.alias = "begin",
		.place = "arithmetic.stp:3:1",
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
	.name = "arithmetic",
	.script = "arithmetic.stp",
	.limits = { STAPY_LIMITS },
	.probes = probes,
	.nr_probes = ARRAY_SIZE(probes),
	.families = families,
	.nr_families = ARRAY_SIZE(families),
	.frame_bytes = 0,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* Each conversion of printf between brackets, strings, faults, writes. */
#include "script.h"

static const struct {
	s64 value;
	char conversion;
	unsigned int flags;
	int width, precision;
} longs[] = {
	{ 42, 'd', 0, 0, -1 }, { -42, 'd', 0, 6, -1 }, { -42, 'd', STAPY_F_ZERO, 6, -1 },
	{ 42, 'd', STAPY_F_LEFT, 6, -1 }, { 42, 'd', STAPY_F_PLUS, 0, -1 },
	{ 42, 'd', STAPY_F_SPACE, 0, -1 }, { 42, 'd', 0, 0, 5 }, { S64_MIN, 'd', 0, 0, -1 },
	{ S64_MAX, 'd', 0, 0, -1 }, { -1, 'u', 0, 0, -1 }, { 0, 'd', 0, 0, -1 },
	{ 4294967296, 'd', 0, 0, -1 }, { 255, 'x', 0, 0, -1 }, { 255, 'X', STAPY_F_ALT, 0, -1 },
	{ 255, 'x', STAPY_F_ALT | STAPY_F_ZERO, 8, -1 }, { 8, 'o', STAPY_F_ALT, 0, -1 },
	{ -1, 'o', 0, 0, -1 }, { 4096, 'p', 0, 0, -1 }, { 0, 'p', 0, 0, -1 },
	{ -1, 'p', 0, 0, -1 },
};

static void check_longs(struct stapy_context *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(longs); i++) {
		struct stapy_out *o = stapy_print_begin(c);

		stapy_out_text(o, "[", 1);
		stapy_out_long(o, longs[i].value, longs[i].conversion, longs[i].flags,
			       longs[i].width, longs[i].precision);
		stapy_out_text(o, "]\n", 2);
		stapy_print_end(c);
	}
}

static void check_strings(struct stapy_context *c)
{
	struct stapy_out *o = stapy_print_begin(c);
	char text[32];
	struct stapy_out s;

	stapy_out_string(o, "abc", 0, 5, -1);
	stapy_out_string(o, "|abc", STAPY_F_LEFT, 6, -1);
	stapy_out_string(o, "|abcdef", 0, 0, 4);
	stapy_out_text(o, "|", 1);
	stapy_out_char(o, 'x', 0, 3);
	stapy_out_char(o, '\n', STAPY_F_ALT, 0);
	stapy_out_char(o, 1, STAPY_F_ALT, 0);
	stapy_out_text(o, "|", 1);
	stapy_out_binary(o, 0x44434241, 0, 4, -1);
	stapy_out_binary(o, 0x4645, 0, 0, 2);
	stapy_out_text(o, "|", 1);
	stapy_out_memory(c, o, (unsigned long)"memory", false, 0, 0, 6, NULL);
	stapy_out_memory(c, o, (unsigned long)"hex", true, 0, 0, 3, NULL);
	stapy_out_text(o, "\n", 1);
	stapy_print_end(c);

	stapy_out_to(&s, text, 8);
	stapy_out_string(&s, "cut to seven", 0, 0, -1);
	stapy_out_finish(&s);
	say(c, "%s %llu\n", text, s.lost);
	stapy_concat(text, "left", "right", 8);
	say(c, "%s", text);
	stapy_copy(text, "xy", sizeof(text));
	stapy_concat(text, text, text, sizeof(text));
	say(c, " %s", text);
	stapy_quote(text, sizeof(text), "a\"b\n\x01", 5, false);
	say(c, " %s", text);
	stapy_quote(text, 12, "abcdefghijklmn", 14, false);
	say(c, " %s\n", text);
}

static const char constant[16] = "read only";

static void check_memory(struct stapy_context *c)
{
	static const unsigned long bad[] = {
		0, 8, 0xdead000000000000, 0x8000000000000000, 0x00007ffffffff000, -8UL, -1UL,
		0xffff800000000000, 0xffffc90000000000, 0xffffffffff600000,
	};
	u64 value = 0x1122334455667788;
	char text[24];
	int i, refused = 0;
	struct stapy_out *o;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		refused += !stapy_read_kernel(c, &value, bad[i], 8, "x");
		c->error = NULL;
		refused += stapy_peek_kernel_string(text, bad[i], sizeof(text)) < 0;
		refused += !stapy_write_kernel(c, bad[i], &value, 8, NULL);
		c->error = NULL;
		refused += !stapy_write_user(c, bad[i], &value, 8, NULL);
		c->error = NULL;
	}
	say(c, "refused %d of %zu\n", refused, 4 * ARRAY_SIZE(bad));
	stapy_read_user(c, &value, 16, 8, "identifier 'p' at t.stp:1:1");
	say(c, "%s\n", c->error);
	c->error = NULL;
	say(c, "const %d", stapy_write_kernel(c, (unsigned long)constant, "x", 1, "y"));
	say(c, " %.*s\n", 36, c->error);
	c->error = NULL;
	value = 0;
	stapy_write_kernel(c, (unsigned long)&value, "\x34\x12", 2, NULL);
	say(c, "stored %llx length %ld %s\n", value,
	    stapy_peek_kernel_string(text, (unsigned long)constant, 6), text);
	/* A print that fails in the middle leaves nothing behind. */
	o = stapy_print_begin(c);
	stapy_out_text(o, "never seen ", 11);
	if (stapy_out_memory(c, o, 16, false, 0, 0, 4, "z"))
		stapy_print_end(c);
	c->error = NULL;
	say(c, "after\n");
}

static void check_symbols(struct stapy_context *c)
{
	const unsigned long *stack;
	char text[80];
	unsigned int n = stapy_kernel_stack(c, &stack, 16);

	stapy_symbol_name(text, sizeof(text), (unsigned long)vfree);
	say(c, "%s ", text);
	stapy_module_name(text, sizeof(text), (unsigned long)vfree);
	say(c, "%s ", text);
	stapy_module_name(text, sizeof(text), (unsigned long)check_memory);
	say(c, "%s ", text);
	stapy_symbol_data(text, sizeof(text), (unsigned long)vfree + 1);
	say(c, "%.*s %s ", 11, text, strchr(text, '[') ?: "none");
	stapy_symbol_data(text, sizeof(text), 4096);
	say(c, "%s stack %d\n", text, n > 3);
}

static void h_begin(struct stapy_context *c)
{
	check_longs(c);
	check_strings(c);
	check_memory(c);
	check_symbols(c);
	stapy_exit();
}

static struct stapy_probe probes[] = { PROBE(h_begin, "begin") };

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
};

static const struct stapy_family_rows families[] = { ROWS(stapy_begin_end, begin_end_rows) };

struct stapy_session stapy_session = { .limits = { DEFAULT_LIMITS, .maxskipped = 100 }, TABLES };

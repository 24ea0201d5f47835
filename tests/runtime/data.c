// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays, statistics, histograms and printf; prints one line per check, or a picture. */
#include "script.h"

static struct stapy_map *mixed, *small, *ring, *texts, *stats, *short_keys, *nine, *pairs;
static struct stapy_statvar *plain, *logs, *linear, *scaled;

static struct stapy_storage storage[] = {
	{ .name = "mixed", .map = &mixed, .value = STAPY_LONG, .nkeys = 3,
	  .keys = { STAPY_STRING, STAPY_LONG, STAPY_STRING }, .key_bytes = { 16, 0, 0 } },
	{ .name = "small", .map = &small, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG },
	  .size = 3, .size_set = 1 },
	{ .name = "ring", .map = &ring, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG },
	  .size = 3, .wrap = 1 },
	{ .name = "texts", .map = &texts, .value = STAPY_STRING, .nkeys = 1,
	  .keys = { STAPY_STRING }, .value_bytes = 8 },
	{ .name = "stats", .map = &stats, .value = STAPY_STAT, .nkeys = 2,
	  .keys = { STAPY_STRING, STAPY_LONG }, .key_bytes = { 16 }, .size = 10,
	  .shape = { .variance = 1, .histogram = STAPY_HIST_LOG } },
	{ .name = "short_keys", .map = &short_keys, .value = STAPY_LONG, .nkeys = 1,
	  .keys = { STAPY_STRING }, .key_bytes = { 4 } },
	{ .name = "plain", .stat = &plain, .value = STAPY_STAT, .shape = { .variance = 1 } },
	{ .name = "logs", .stat = &logs, .value = STAPY_STAT, .shape = { .histogram = STAPY_HIST_LOG } },
	{ .name = "linear", .stat = &linear, .value = STAPY_STAT,
	  .shape = { .histogram = STAPY_HIST_LINEAR, .low = 0, .high = 100, .step = 10 } },
	{ .name = "scaled", .stat = &scaled, .value = STAPY_STAT, .shape = { .histogram = STAPY_HIST_LOG } },
	{ .name = "nine", .map = &nine, .value = STAPY_LONG, .nkeys = 1,
	  .keys = { STAPY_STRING }, .key_bytes = { 9 } },
	{ .name = "pairs", .map = &pairs, .value = STAPY_LONG, .nkeys = 2,
	  .keys = { STAPY_LONG, STAPY_STRING }, .key_bytes = { 0, 18 } },
};

#define K(...) ((union stapy_key []){ __VA_ARGS__ })
#define N(v) { .n = (v) }
#define S(v) { .s = (v) }

static void set(struct stapy_context *c, struct stapy_map *m, const union stapy_key *k, s64 value)
{
	s64 *slot = stapy_map_slot(c, m, k, "identifier 'm' at t.stp:1:1");

	if (slot)
		*slot = value;
}

static void show_small(struct stapy_context *c, struct stapy_map *m, const char *title, int sort,
		       bool descending, s64 limit)
{
	struct stapy_iter i;

	say(c, "%s:", title);
	stapy_iter_start(&i, m, sort, 0, descending, limit, NULL, NULL);
	while (stapy_iter_next(&i))
		say(c, " %lld=%lld", stapy_iter_key_long(&i, 0), stapy_iter_long(&i));
	say(c, "\n");
}

static void check_maps(struct stapy_context *c)
{
	static const u8 any_number[] = { 0, 1, 0 };
	struct stapy_iter i;

	set(c, mixed, K(S("bash"), N(1), S("x")), 10);
	set(c, mixed, K(S("bash"), N(2), S("x")), 20);
	set(c, mixed, K(S("bash"), N(2), S("y")), 30);
	set(c, mixed, K(S("a very long name of a process"), N(-5), S("")), 40);
	(*stapy_map_slot(c, mixed, K(S("bash"), N(1), S("x")), NULL))++;
	say(c, "get %lld %lld %lld has %d %d\n", stapy_map_get_long(mixed, K(S("bash"), N(1), S("x"))),
	    stapy_map_get_long(mixed, K(S("a very long nam"), N(-5), S(""))),
	    stapy_map_get_long(mixed, K(S("bash"), N(3), S("x"))),
	    stapy_map_has(mixed, K(S("bash"), N(2), S("y"))),
	    stapy_map_has(mixed, K(S("bash"), N(2), S("z"))));
	say(c, "slice %d %d:", stapy_map_has_slice(mixed, K(S("bash"), N(0), S("y")), any_number),
	    stapy_map_has_slice(mixed, K(S("dash"), N(0), S("y")), any_number));
	stapy_iter_start(&i, mixed, 3, 0, true, -1, K(S("bash"), N(0), S("x")), any_number);
	while (stapy_iter_next(&i))
		say(c, " %s/%lld/%s", stapy_iter_key_string(&i, 0), stapy_iter_key_long(&i, 1),
		    stapy_iter_key_string(&i, 2));
	stapy_map_delete_slice(mixed, K(S("bash"), N(0), S("x")), any_number);
	say(c, " left %lld\n", stapy_map_get_long(mixed, K(S("bash"), N(2), S("y"))));

	set(c, small, K(N(7)), 3);
	set(c, small, K(N(5)), 1);
	set(c, small, K(N(9)), 2);
	show_small(c, small, "in order", 0, false, -1);
	show_small(c, small, "by value", 1, false, -1);
	show_small(c, small, "by value down", 1, true, 2);
	show_small(c, small, "by key down", 2, true, -1);
	set(c, small, K(N(11)), 4);
	say(c, "full: %s\n", c->error);
	c->error = NULL;
	stapy_map_delete(small, K(N(5)));
	set(c, small, K(N(11)), 4);
	show_small(c, small, "after delete", 0, false, -1);
	stapy_map_clear(small);
	show_small(c, small, "cleared", 1, false, -1);

	set(c, ring, K(N(1)), 1);
	set(c, ring, K(N(2)), 2);
	set(c, ring, K(N(3)), 3);
	set(c, ring, K(N(4)), 4);
	show_small(c, ring, "wrapped", 0, false, -1);

	stapy_map_set_string(c, texts, K(S("k")), "longer than eight", NULL);
	say(c, "text '%s' '%s'\n", stapy_map_get_string(texts, K(S("k"))),
	    stapy_map_get_string(texts, K(S("none"))));
	set(c, short_keys, K(S("abcdef")), 1);
	say(c, "cut key %lld\n", stapy_map_get_long(short_keys, K(S("abcxyz"))));
}

#define ALPHABET "abcdefghijklmnopqrstuvwxyz"

/* Keys of every length: words, what is left of one, and what is cut. */
static void check_lengths(struct stapy_context *c)
{
	s64 wrong = 0, n;
	char key[27];

	for (n = 0; n < sizeof(key); n++) {
		stapy_copy(key, ALPHABET, n + 1);
		set(c, nine, K(S(key)), n + 1);
		set(c, pairs, K(N(n % 2), S(key)), n + 1);
	}
	for (n = 0; n < sizeof(key); n++) {
		stapy_copy(key, ALPHABET, n + 1);
		/* The longest of those that are cut alike was the last one. */
		wrong += stapy_map_get_long(nine, K(S(key))) != (n < 8 ? n : 26) + 1;
		wrong += stapy_map_get_long(pairs, K(N(n % 2), S(key))) !=
			 (n < 17 ? n : 26 - (n ^ 26) % 2) + 1;
		wrong += stapy_map_has(pairs, K(N(2), S(key)));
		/* Behind its end a key may go on as it likes. */
		key[n] = '\0';
		if (n < 8)
			stapy_map_delete(nine, K(S(key)));
		wrong += stapy_map_has(nine, K(S(key))) != (n >= 8);
	}
	say(c, "wrong by length: %lld\n", wrong);
}

/* Copies of every length into buffers of every size, and within one buffer. */
static void check_copies(struct stapy_context *c)
{
	char text[64], to[64], other[64];
	s64 wrong = 0, size, n, from, at;

	for (size = 1; size < 30; size++) {
		for (n = 0; n <= 26; n++) {
			s64 length = min(n, size - 1);

			stapy_copy(text, ALPHABET, n + 1);
			memset(to, '#', sizeof(to));
			wrong += stapy_copy(to, text, size) != length;
			wrong += strlen(to) != length || memcmp(to, text, length);
			wrong += !!memchr_inv(to + size, '#', sizeof(to) - size);
		}
		for (from = 0; from < 12; from++) {
			for (at = 0; at < 12; at++) {
				memset(text, '#', sizeof(text));
				memcpy(text + from, ALPHABET, 27);
				memcpy(other, text, sizeof(text));
				stapy_copy(text + at, text + from, size);
				n = min(size - 1, (s64)26);
				wrong += memcmp(text + at, other + from, n) || text[at + n];
				wrong += memcmp(text, other, at) ||
					 memcmp(text + at + size, other + at + size,
						sizeof(text) - at - size);
			}
		}
	}
	say(c, "wrong copies: %lld\n", wrong);
}

/* Many elements, removed and added again, sorted. */
static void check_many(struct stapy_context *c)
{
	s64 i, last = S64_MIN, sum = 0, n = 0;
	struct stapy_iter it;
	bool sorted = true;

	stapy_map_clear(mixed);
	for (i = 0; i < 2048; i++)
		set(c, mixed, K(S("k"), N(i * 7919 % 4096), S("v")), i * 104729 % 65536);
	for (i = 0; i < 2048; i += 2)
		stapy_map_delete(mixed, K(S("k"), N(i * 7919 % 4096), S("v")));
	for (i = 0; i < 1024; i++)
		set(c, mixed, K(S("again"), N(i), S("v")), i);
	stapy_iter_start(&it, mixed, 1, 0, false, -1, NULL, NULL);
	while (stapy_iter_next(&it)) {
		sorted &= stapy_iter_long(&it) >= last;
		last = stapy_iter_long(&it);
		sum += last;
		n++;
	}
	say(c, "many %lld sorted %d sum %lld error %s\n", n, sorted, sum, c->error ?: "none");
}

static void check_stats(struct stapy_context *c)
{
	static const u8 any_name[] = { 1, 0 };
	s64 value, v[] = { 10, -20, 30, 7, 7 };
	const struct stapy_stat *s;
	struct stapy_iter i;
	int k;

	if (!stapy_stat_value(c, stapy_stat_read(plain), STAPY_AVG, 0, &value,
			      "operator '@avg' at t.stp:1:1"))
		say(c, "%s\n", c->error);
	c->error = NULL;
	for (k = 0; k < ARRAY_SIZE(v); k++)
		stapy_stat_add(plain, v[k]);
	s = stapy_stat_read(plain);
	for (k = STAPY_COUNT; k <= STAPY_VARIANCE; k++) {
		stapy_stat_value(c, s, k, 0, &value, NULL);
		say(c, "%lld ", value);
	}
	stapy_stat_clear(plain);
	stapy_stat_add(plain, S64_MAX);
	stapy_stat_add(plain, S64_MAX - 4);
	stapy_stat_add(plain, S64_MIN);
	stapy_stat_clear(plain);
	stapy_stat_add(plain, 3037000000LL);
	stapy_stat_add(plain, 3037000004LL);
	stapy_stat_value(c, stapy_stat_read(plain), STAPY_VARIANCE, 0, &value, NULL);
	say(c, "big variance %lld\n", value);

	stapy_map_add(c, stats, K(S("a"), N(1)), 5, NULL);
	stapy_map_add(c, stats, K(S("b"), N(1)), 100, NULL);
	stapy_map_add(c, stats, K(S("b"), N(1)), 50, NULL);
	stapy_map_add(c, stats, K(S("c"), N(2)), 60, NULL);
	stapy_iter_start(&i, stats, 1, STAPY_SUM, true, -1, NULL, NULL);
	while (stapy_iter_next(&i)) {
		s = stapy_iter_stat(&i);
		say(c, "%s:%lld n=%lld sum=%lld ", stapy_iter_key_string(&i, 0),
		    stapy_iter_key_long(&i, 1), s->count, s->sum);
	}
	s = stapy_map_stat_slice(stats, K(S(""), N(1)), any_name);
	say(c, "slice n=%lld sum=%lld ", s->count, s->sum);
	say(c, "none %d\n", !stapy_map_stat(stats, K(S("z"), N(1))));
	for (k = 0; k < 20 && !c->error; k++)
		stapy_map_add(c, stats, K(S("full"), N(k)), 1, "identifier 'stats' at t.stp:1:1");
	say(c, "%d added, %s\n", k - 1, c->error);
	c->error = NULL;
}

static void draw(struct stapy_context *c, struct stapy_statvar *v, int row)
{
	struct stapy_out *o = stapy_print_begin(c);

	if (stapy_out_histogram(c, o, stapy_stat_read(v), &storage[row].shape, "'@hist'"))
		stapy_print_end(c);
}

static void check_histograms(struct stapy_context *c)
{
	int i;

	draw(c, logs, 7);
	say(c, "%s\n", c->error);
	c->error = NULL;
	stapy_stat_add(logs, 0);
	stapy_stat_add(logs, 3);
	stapy_stat_add(logs, 3);
	stapy_stat_add(logs, 1 << 20);
	draw(c, logs, 7);
	stapy_stat_add(logs, -5);
	draw(c, logs, 7);
	for (i = -10; i < 130; i += 7)
		stapy_stat_add(linear, i);
	draw(c, linear, 8);
	stapy_stat_clear(linear);
	stapy_stat_add(linear, 55);
	draw(c, linear, 8);
	for (i = 0; i < 130; i++)
		stapy_stat_add(scaled, 8);
	stapy_stat_add(scaled, 1);
	draw(c, scaled, 9);
}

static void h_begin(struct stapy_context *c)
{
	check_maps(c);
	check_lengths(c);
	check_copies(c);
	check_many(c);
	check_stats(c);
	check_histograms(c);
	stapy_exit();
}

static struct stapy_probe probes[] = { PROBE(h_begin, "begin") };

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[0], "begin" }, .phase = STAPY_BEGIN },
};

static const struct stapy_family_rows families[] = { ROWS(stapy_begin_end, begin_end_rows) };

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS, .maxskipped = 100 }, TABLES,
	.storage = storage, .nr_storage = ARRAY_SIZE(storage),
};

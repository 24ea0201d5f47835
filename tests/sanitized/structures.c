// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arrays, statistics, strings and formats, by commands of standard input: one line each, answered
 * by one line. Numbers are decimal, texts are x and hexadecimal. test_structures.py has the model.
 */
#include "internal.h"

#define MOST_KEYS 3
#define MOST_SECONDS 60		/* for a command: a walk that does not end is one that failed */

static struct stapy_map *maps[7];
static struct stapy_statvar *variable;

#define MAP(number, ...) { .name = #number, .map = &maps[number], __VA_ARGS__ }
static struct stapy_storage storage[] = {
	MAP(0, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG }, .size = 5, .size_set = 1),
	MAP(1, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_STRING }, .key_bytes = { 16 }),
	MAP(2, .value = STAPY_LONG, .nkeys = 3, .keys = { STAPY_STRING, STAPY_LONG, STAPY_STRING },
	    .key_bytes = { 9, 0, 24 }, .size = 8),
	MAP(3, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG }, .size = 3, .wrap = 1),
	MAP(4, .value = STAPY_STRING, .nkeys = 1, .keys = { STAPY_STRING }, .key_bytes = { 5 },
	    .value_bytes = 8),
	MAP(5, .value = STAPY_STAT, .nkeys = 2, .keys = { STAPY_STRING, STAPY_LONG },
	    .key_bytes = { 16 }, .size = 6, .shape = { .variance = 1, .histogram = STAPY_HIST_LOG }),
	MAP(6, .value = STAPY_STAT, .nkeys = 1, .keys = { STAPY_LONG }, .size = 3, .wrap = 1,
	    .shape = { .histogram = STAPY_HIST_LINEAR, .low = -10, .high = 10, .step = 3 }),
	{ .name = "variable", .stat = &variable, .value = STAPY_STAT,
	  .shape = { .variance = 1, .histogram = STAPY_HIST_LOG } },
};

struct stapy_session stapy_session = {
	.storage = storage,
	.nr_storage = ARRAY_SIZE(storage),
	.limits = { .maxmapentries = 4, .maxstringlen = 32 },
};
struct stapy_cpu *stapy_cpus;
static struct stapy_cpu cpu;		/* with an empty ring */

/* The words of the command that is carried out. */
static char *rest;

static const char *word(void)
{
	char *found = strsep(&rest, " ");

	if (!found)
		exit(2);
	return found;
}

static s64 number(void)
{
	return strtoll(word(), NULL, 10);
}

/* A text in memory of its own, which ends where it ends. */
static char *text(void)
{
	const char *hex = word() + 1;
	size_t n = strlen(hex) / 2, i;
	char *made = malloc(n + 1);

	for (i = 0; i < n; i++) {
		char byte[] = { hex[2 * i], hex[2 * i + 1], 0 };

		made[i] = strtol(byte, NULL, 16);
	}
	made[n] = '\0';
	return made;
}

static void say_text(const char *s, size_t n)
{
	putchar('x');
	while (n--)
		printf("%02x", *(const u8 *)s++);
}

static void keys_of(const struct stapy_storage *row, union stapy_key *keys)
{
	int i;

	for (i = 0; i < row->nkeys; i++) {
		if (row->keys[i] == STAPY_LONG)
			keys[i].n = number();
		else
			keys[i].s = text();
	}
}

static void forget(const struct stapy_storage *row, union stapy_key *keys)
{
	int i;

	for (i = 0; i < row->nkeys; i++)
		if (row->keys[i] == STAPY_STRING)
			free((char *)keys[i].s);
}

static void say_stat(const struct stapy_stat *s, const struct stapy_stat_shape *shape)
{
	s64 value, total = 0;
	int i;

	if (!s || !s->count) {
		printf("none");
		return;
	}
	for (i = STAPY_COUNT; i <= (shape->variance ? STAPY_VARIANCE : STAPY_AVG); i++) {
		stapy_stat_value(&cpu.c, s, i, 0, &value, NULL);
		printf("%lld ", value);
	}
	for (i = 0; i < stapy_stat_buckets(shape); i++) {
		if (!stapy_stat_bucket_count(s, i))
			continue;
		printf("%d:%lld,", i, stapy_stat_bucket_count(s, i));
		total += stapy_stat_bucket_count(s, i);
	}
	if (total != s->count)
		printf(" of %lld", s->count);
}

static void say_outcome(bool done)
{
	if (done)
		printf("ok");
	else
		printf("error %s", cpu.c.error);
	cpu.c.error = NULL;
}

static void set(struct stapy_map *m, const struct stapy_storage *row, const union stapy_key *keys)
{
	if (row->value == STAPY_STRING) {
		char *value = text();

		say_outcome(stapy_map_set_string(&cpu.c, m, keys, value, "here"));
		free(value);
	} else {
		s64 *slot = stapy_map_slot(&cpu.c, m, keys, "here");

		if (slot)
			*slot = number();
		say_outcome(slot);
	}
}

static void get(struct stapy_map *m, const struct stapy_storage *row, const union stapy_key *keys)
{
	const char *value;

	printf("%d ", stapy_map_has(m, keys));
	switch (row->value) {
	case STAPY_LONG:
		printf("%lld", stapy_map_get_long(m, keys));
		if (!!stapy_map_find(m, keys) != stapy_map_has(m, keys))
			printf(" find");
		break;
	case STAPY_STRING:
		value = stapy_map_get_string(m, keys);
		say_text(value, strlen(value));
		break;
	case STAPY_STAT:
		say_stat(stapy_map_stat(m, keys), &row->shape);
		break;
	}
}

static void say_element(const struct stapy_iter *i, const struct stapy_storage *row)
{
	int key;

	for (key = 0; key < row->nkeys; key++) {
		if (row->keys[key] == STAPY_LONG) {
			printf("%lld ", stapy_iter_key_long(i, key));
		} else {
			const char *s = stapy_iter_key_string(i, key);

			say_text(s, strlen(s));
			putchar(' ');
		}
	}
	switch (row->value) {
	case STAPY_LONG:
		printf("%lld", stapy_iter_long(i));
		break;
	case STAPY_STRING:
		say_text(stapy_iter_string(i), strlen(stapy_iter_string(i)));
		break;
	case STAPY_STAT:
		say_stat(stapy_iter_stat(i), &row->shape);
		break;
	}
	putchar(';');
}

/* each MAP SORT OP DESCENDING LIMIT ANY KEYS: ANY has a bit for each key that may be anything, -1: no slice */
static void each(struct stapy_map *m, const struct stapy_storage *row)
{
	int sort = number(), op = number(), descending = number();
	s64 limit = number(), bits = number();
	union stapy_key keys[MOST_KEYS];
	struct stapy_iter i;
	u8 any[MOST_KEYS];
	int key;

	keys_of(row, keys);
	for (key = 0; key < MOST_KEYS; key++)
		any[key] = bits >> key & 1;
	stapy_iter_start(&i, m, sort, op, descending, limit, bits < 0 ? NULL : keys, bits < 0 ? NULL : any);
	while (stapy_iter_next(&i))
		say_element(&i, row);
	forget(row, keys);
}

static void slice(const char *what, struct stapy_map *m, const struct stapy_storage *row)
{
	union stapy_key keys[MOST_KEYS];
	s64 bits = number();
	u8 any[MOST_KEYS];
	int key;

	keys_of(row, keys);
	for (key = 0; key < MOST_KEYS; key++)
		any[key] = bits >> key & 1;
	printf("%d ", stapy_map_has_slice(m, keys, any));
	if (!strcmp(what, "drop"))
		stapy_map_delete_slice(m, keys, any);
	else if (row->value == STAPY_STAT)
		say_stat(stapy_map_stat_slice(m, keys, any), &row->shape);
	forget(row, keys);
}

static void of_map(const char *what)
{
	int at = number();
	struct stapy_storage *row = &storage[at];
	union stapy_key keys[MOST_KEYS];
	struct stapy_map *m = maps[at];

	if (!strcmp(what, "clear")) {
		stapy_map_clear(m);
		return;
	}
	if (!strcmp(what, "each")) {
		each(m, row);
		return;
	}
	if (!strcmp(what, "slice") || !strcmp(what, "drop")) {
		slice(what, m, row);
		return;
	}
	keys_of(row, keys);
	if (!strcmp(what, "set")) {
		set(m, row, keys);
	} else if (!strcmp(what, "get")) {
		get(m, row, keys);
	} else if (!strcmp(what, "delete")) {
		stapy_map_delete(m, keys);
	} else if (!strcmp(what, "delete-found")) {
		void *found = stapy_map_find(m, keys);

		if (found)
			stapy_map_delete_found(m, found);
	} else if (!strcmp(what, "add")) {
		shim_cpu = number();
		say_outcome(stapy_map_add(&cpu.c, m, keys, number(), "here"));
	} else {
		exit(2);
	}
	forget(row, keys);
}

static void of_variable(const char *what)
{
	if (!strcmp(what, "record")) {
		shim_cpu = number();
		stapy_stat_add(variable, number());
	} else if (!strcmp(what, "empty")) {
		stapy_stat_clear(variable);
	} else {
		say_stat(stapy_stat_read(variable), &storage[ARRAY_SIZE(storage) - 1].shape);
	}
}

static void say_copied(const char *to, size_t length)
{
	if (strlen(to) != length)
		printf("length %zu: ", length);
	say_text(to, strlen(to));
}

static void of_strings(const char *what, size_t bytes)
{
	char *to = malloc(bytes), *a = text(), *b = NULL;

	memset(to, '#', bytes);
	if (!strcmp(what, "copy")) {
		say_copied(to, stapy_copy(to, a, bytes));
	} else if (!strcmp(what, "concat")) {
		b = text();
		say_copied(to, stapy_concat(to, a, b, bytes));
	} else {
		say_copied(to, stapy_quote(to, bytes, a, strlen(a), number()));
	}
	free(to);
	free(a);
	free(b);
}

static void of_formats(const char *what, size_t bytes)
{
	char *to = malloc(bytes), *a = NULL;
	int flags = number(), width = number(), precision = number();
	struct stapy_out o;

	stapy_out_to(&o, to, bytes);
	if (!strcmp(what, "string")) {
		a = text();
		stapy_out_string(&o, a, flags, width, precision);
	} else if (!strcmp(what, "char")) {
		stapy_out_char(&o, number(), flags, width);
	} else if (!strcmp(what, "binary")) {
		stapy_out_binary(&o, number(), flags, width, precision);
	} else if (!strcmp(what, "memory")) {
		bool hex = number();

		a = text();
		stapy_out_memory(&cpu.c, &o, (unsigned long)a, hex, flags, width, precision, NULL);
	} else if (!strcmp(what, "histogram")) {
		stapy_out_histogram(&cpu.c, &o, stapy_stat_read(variable),
				    &storage[ARRAY_SIZE(storage) - 1].shape, "here");
		cpu.c.error = NULL;
	} else {
		char conversion = *word();

		stapy_out_long(&o, number(), conversion, flags, width, precision);
	}
	stapy_out_finish(&o);
	say_text(to, o.at - to);
	printf(" %llu", o.lost);
	free(to);
	free(a);
}

/* Conversions without anything else, as literals: the translator's C has no others that are so. */
static void of_plain(size_t bytes)
{
	char conversion = *word(), *to = malloc(bytes), *a = NULL;
	struct stapy_out o;

	stapy_out_to(&o, to, bytes);
	stapy_out_text(&o, "<", 1);
	if (conversion == 's') {
		a = text();
		stapy_out_string(&o, a, 0, 0, -1);
	} else if (conversion == 'd') {
		stapy_out_long(&o, number(), 'd', 0, 0, -1);
	} else {
		stapy_out_long(&o, number(), 'u', 0, 0, -1);
	}
	stapy_out_text(&o, ">, done\n", 8);
	stapy_out_finish(&o);
	say_text(to, o.at - to);
	printf(" %llu", o.lost);
	free(to);
	free(a);
}

static void of_addresses(size_t bytes)
{
	unsigned long addresses[8];
	bool behind = number(), all;
	unsigned int n = number(), i;
	char *to = malloc(bytes);

	for (i = 0; i < n; i++)
		addresses[i] = number();
	all = stapy_addresses_text(to, bytes, addresses, n, behind);
	say_text(to, strlen(to));
	printf(" %d", all);
	free(to);
}

/* A histogram for a terminal with so many columns, or for what is none. */
static void of_drawings(size_t bytes)
{
	const struct stapy_limits limits = stapy_session.limits;
	const char *where = word();
	struct stapy_out string, *o = strcmp(where, "string") ? &cpu.c.out : &string;
	char *to = malloc(bytes);

	stapy_columns = number();
	stapy_colors = number();
	stapy_session.limits.bulk = !strcmp(where, "bulk");
	stapy_session.records = strcmp(where, "records") ? NULL : "";
	stapy_session.limits.hist_width_given = !strcmp(where, "given");
	stapy_session.limits.hist_given = !strcmp(where, "given") || !strcmp(where, "elided");
	stapy_session.limits.hist_width = 30;
	stapy_session.limits.hist_elision = 1;
	cpu.ring.head = strcmp(where, "waiting") ? 0 : stapy_ring_bytes() / 2 - 100;
	stapy_out_to(o, to, bytes);
	stapy_out_histogram(&cpu.c, o, stapy_stat_read(variable), &storage[ARRAY_SIZE(storage) - 1].shape, "here");
	stapy_out_finish(o);
	say_text(to, o->at - to);
	stapy_session.limits = limits;
	stapy_session.records = NULL;
	cpu.c.out.at = NULL;
	free(to);
}

/* A picture of so many buckets with HIST_ELISION and data in some of them, and the time of making it. */
static void of_elision(unsigned int buckets)
{
	const struct stapy_limits limits = stapy_session.limits;
	struct stapy_stat_shape shape = { .histogram = STAPY_HIST_LINEAR, .high = buckets - 3, .step = 1 };
	struct stapy_stat *stat = calloc(1, sizeof(*stat) + buckets * sizeof(*stat->histogram));
	size_t bytes = 100 * (size_t)buckets;
	char *to = malloc(bytes);
	struct stapy_out o;
	clock_t begun;

	stapy_stat_shape_buckets(&shape);
	stapy_session.limits.hist_given = 1;
	stapy_session.limits.hist_width = 1;
	stapy_session.limits.hist_elision = number();
	while (rest) {
		stat->histogram[number()]++;
		stat->count++;
	}
	begun = clock();
	stapy_out_to(&o, to, bytes);
	stapy_out_histogram(&cpu.c, &o, stat, &shape, "here");
	begun = clock() - begun;
	stapy_out_finish(&o);
	say_text(to, o.at - to);
	printf(" %ld", (long)begun);
	stapy_session.limits = limits;
	free(stat);
	free(to);
}

static bool is_one_of(const char *what, const char *names)
{
	const char *found = strstr(names, what);

	return found && found[strlen(what)] == ' ';
}

static void obey(void)
{
	const char *what = word();

	if (is_one_of(what, "record empty read "))
		of_variable(what);
	else if (is_one_of(what, "copy concat quote "))
		of_strings(what, number());
	else if (is_one_of(what, "string char binary memory histogram long "))
		of_formats(what, number());
	else if (is_one_of(what, "drawing "))
		of_drawings(number());
	else if (is_one_of(what, "elision "))
		of_elision(number());
	else if (is_one_of(what, "plain "))
		of_plain(number());
	else if (is_one_of(what, "addresses "))
		of_addresses(number());
	else
		of_map(what);
	putchar('\n');
	fflush(stdout);
}

int main(void)
{
	char *line = NULL;
	size_t bytes = 0;
	ssize_t n;

	stapy_rings_size();
	if (stapy_maps_plan() || stapy_maps_alloc())
		return 2;
	while ((n = getline(&line, &bytes, stdin)) > 0) {
		line[n - 1] = '\0';
		rest = line;
		alarm(MOST_SECONDS);
		obey();
		alarm(0);	/* a busy host may leave whoever asks waiting */
	}
	free(line);
	stapy_maps_free();
	return 0;
}

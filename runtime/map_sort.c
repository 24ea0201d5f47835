// SPDX-License-Identifier: GPL-2.0-or-later
/* Iteration over arrays, sorted or not. */
#include "map_internal.h"

#define RUNS 32				/* sorted runs of 1, 2, 4 … elements: more than memory can hold */

enum { SORT_NONE, SORT_VALUE, SORT_KEY };

struct sorting {
	const struct stapy_map *map;
	int by;
	bool descending;
};

static int compare_longs(s64 a, s64 b)
{
	return a < b ? -1 : a > b;
}

static int compare(const struct sorting *s, const struct stapy_entry *a, const struct stapy_entry *b)
{
	const struct stapy_map *m = s->map;
	int key = s->by - SORT_KEY, r;

	if (key >= 0) {
		r = m->row->keys[key] == STAPY_LONG ?
		    compare_longs(*stapy_entry_long_key(m, a, key), *stapy_entry_long_key(m, b, key)) :
		    strcmp(stapy_entry_string_key(m, a, key), stapy_entry_string_key(m, b, key));
	} else if (m->row->value == STAPY_STRING) {
		r = strcmp(stapy_entry_value(m, a), stapy_entry_value(m, b));
	} else {
		r = compare_longs(a->rank, b->rank);
	}
	return s->descending ? -r : r;
}

/* Elements of a come before equal ones of b. */
static struct stapy_entry *merge(const struct sorting *s, struct stapy_entry *a, struct stapy_entry *b)
{
	struct stapy_entry *first = NULL, **at = &first;

	while (a && b) {
		struct stapy_entry **from = compare(s, a, b) <= 0 ? &a : &b;

		*at = *from;
		at = &(*from)->order;
		*from = (*from)->order;
	}
	*at = a ?: b;
	return first;
}

/* Merge sort from below, without recursion: runs[i] is empty or holds 2^i elements. */
static struct stapy_entry *sort_chain(const struct sorting *s, struct stapy_entry *first)
{
	struct stapy_entry *runs[RUNS] = { NULL }, *all = NULL;
	int i;

	while (first) {
		struct stapy_entry *run = first;

		first = first->order;
		run->order = NULL;
		for (i = 0; i < RUNS - 1 && runs[i]; i++) {
			run = merge(s, runs[i], run);
			runs[i] = NULL;
		}
		runs[i] = runs[i] ? merge(s, runs[i], run) : run;
	}
	for (i = 0; i < RUNS; i++)
		if (runs[i])
			all = merge(s, runs[i], all);
	return all;
}

s64 stapy_map_rank(struct stapy_map *m, const struct stapy_entry *e, int op)
{
	s64 value;

	if (!stapy_map_is_stat(m))
		return m->row->value == STAPY_LONG ? *(s64 *)stapy_entry_value(m, e) : 0;
	stapy_stat_reset(m->merged, &m->row->shape);
	stapy_map_merge_twins(m, m->merged, e);
	/* Every element has at least one value, so no operator can fail. */
	stapy_stat_value(NULL, m->merged, op, 0, &value, NULL);
	return value;
}

/* Append what belongs to the walk to the list that ends at `at`; the new end. */
static struct stapy_entry **collect(const struct stapy_iter *i, const struct stapy_table *t, int cpu,
				    bool ranks, int op, struct stapy_entry **at)
{
	struct stapy_map *m = i->map;
	struct stapy_entry *e;

	list_for_each_entry(e, &t->used, list) {
		if (i->keys && !stapy_entry_matches(m, e, i->keys, i->any))
			continue;
		if (cpu >= 0 && !stapy_map_first_twin(m, e, cpu))
			continue;
		if (ranks)
			e->rank = stapy_map_rank(m, e, op);
		*at = e;
		at = &e->order;
	}
	return at;
}

static void start_sorted(struct stapy_iter *i, int sort_by, int op, bool descending)
{
	const struct sorting s = { .map = i->map, .by = sort_by, .descending = descending };
	bool ranks = sort_by == SORT_VALUE && i->map->row->value != STAPY_STRING;
	struct stapy_entry *first = NULL, **at = &first;
	int cpu;

	if (stapy_map_is_stat(i->map)) {
		for_each_possible_cpu(cpu)
			at = collect(i, per_cpu_ptr(i->map->parts, cpu), cpu, ranks, op, at);
	} else {
		at = collect(i, &i->map->whole, -1, ranks, op, at);
	}
	*at = NULL;
	i->next = sort_chain(&s, first);
}

void stapy_iter_start(struct stapy_iter *i, struct stapy_map *m, int sort, int op, bool descending,
		      s64 limit, const union stapy_key *keys, const u8 *any)
{
	i->map = m;
	i->entry = NULL;
	i->next = NULL;
	i->left = limit;
	i->keys = keys;
	i->any = any;
	i->sorted = sort != SORT_NONE;
	i->cpu = -1;
	if (i->sorted)
		start_sorted(i, sort, op, descending);
}

/* The element after e in a table, or the first one; only those that belong to the walk. */
static struct stapy_entry *next_in(const struct stapy_iter *i, const struct stapy_table *t,
				   struct stapy_entry *e)
{
	const struct list_head *at = e ? &e->list : &t->used;

	while ((at = at->next) != &t->used) {
		e = list_entry(at, struct stapy_entry, list);
		if (i->keys && !stapy_entry_matches(i->map, e, i->keys, i->any))
			continue;
		if (i->cpu >= 0 && !stapy_map_first_twin(i->map, e, i->cpu))
			continue;
		return e;
	}
	return NULL;
}

static struct stapy_entry *next_unsorted(struct stapy_iter *i)
{
	struct stapy_entry *e = i->entry;

	if (!stapy_map_is_stat(i->map))
		return next_in(i, &i->map->whole, e);
	if (i->cpu < 0)
		i->cpu = cpumask_first(cpu_possible_mask);
	while (i->cpu < nr_cpu_ids) {
		e = next_in(i, per_cpu_ptr(i->map->parts, i->cpu), e);
		if (e)
			return e;
		i->cpu = cpumask_next(i->cpu, cpu_possible_mask);
	}
	return NULL;
}

bool stapy_iter_next(struct stapy_iter *i)
{
	struct stapy_entry *e;

	if (!i->left)
		return false;
	if (i->left > 0)
		i->left--;
	if (i->sorted) {
		e = i->next;
		i->next = e ? e->order : NULL;
	} else {
		e = next_unsorted(i);
	}
	i->entry = e;
	if (!e)
		i->left = 0;
	return e;
}

s64 stapy_iter_key_long(const struct stapy_iter *i, int key)
{
	return *stapy_entry_long_key(i->map, i->entry, key);
}

const char *stapy_iter_key_string(const struct stapy_iter *i, int key)
{
	return stapy_entry_string_key(i->map, i->entry, key);
}

s64 stapy_iter_long(const struct stapy_iter *i)
{
	return *(s64 *)stapy_entry_value(i->map, i->entry);
}

const char *stapy_iter_string(const struct stapy_iter *i)
{
	return stapy_entry_value(i->map, i->entry);
}

const struct stapy_stat *stapy_iter_stat(const struct stapy_iter *i)
{
	struct stapy_map *m = i->map;

	stapy_stat_reset(m->merged, &m->row->shape);
	stapy_map_merge_twins(m, m->merged, i->entry);
	return m->merged;
}

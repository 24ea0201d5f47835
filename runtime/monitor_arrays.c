// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An array as a monitor sees it: its elements with the highest values, found in parts between which
 * others have the array. Buckets are gone through in their order, for elements never change theirs;
 * what was found is looked at again before it is told, for it may be gone or somebody else.
 */
#include "map_internal.h"
#include "probes/procfs.h"

#define STRIDE 32			/* units of work, a bucket or a table asked for a key, between looks at the clock */

static struct stapy_table *table_of(const struct stapy_map *m, int cpu)
{
	return cpu < 0 ? (struct stapy_table *)&m->whole : per_cpu_ptr(m->parts, cpu);
}

/* The first table, or the one after that of `cpu`; false when there are no more. */
static bool next_table(const struct stapy_map *m, struct stapy_monitor_look *look, bool first)
{
	look->bucket = 0;
	if (!stapy_map_is_stat(m)) {
		look->cpu = -1;
		return first;
	}
	look->cpu = first ? cpumask_first(cpu_possible_mask) :
			    cpumask_next(look->cpu, cpu_possible_mask);
	return look->cpu < nr_cpu_ids;
}

static bool is_used(const struct stapy_map *m, const struct stapy_table *t,
		    const struct stapy_entry *e)
{
	const struct stapy_entry *one = *stapy_bucket(m, t, e->hash);

	while (one && one != e)
		one = one->chain;
	return one;
}

static bool comes_before(const struct stapy_map *m, const struct stapy_entry *a, s64 a_rank,
			 const struct stapy_entry *b, s64 b_rank)
{
	if (m->row->value == STAPY_STRING)
		return strcmp(stapy_entry_value(m, a), stapy_entry_value(m, b)) > 0;
	return a_rank > b_rank;
}

static void drop(struct stapy_monitor_look *look, unsigned int at)
{
	look->count--;
	for (; at < look->count; at++) {
		look->best[at] = look->best[at + 1];
		look->cpus[at] = look->cpus[at + 1];
		look->ranks[at] = look->ranks[at + 1];
	}
}

/* Put an element among the best where it belongs, if it does. */
static void place(struct stapy_map *m, struct stapy_monitor_look *look, struct stapy_entry *e, int cpu)
{
	s64 rank = stapy_map_rank(m, e, STAPY_COUNT);
	unsigned int at = look->count;

	if (at == STAPY_SHOWN) {
		at--;
		if (!comes_before(m, e, rank, look->best[at], look->ranks[at]))
			return;
		look->count--;
	}
	for (; at && comes_before(m, e, rank, look->best[at - 1], look->ranks[at - 1]); at--) {
		look->best[at] = look->best[at - 1];
		look->cpus[at] = look->cpus[at - 1];
		look->ranks[at] = look->ranks[at - 1];
	}
	look->best[at] = e;
	look->cpus[at] = cpu;
	look->ranks[at] = rank;
	look->count++;
}

/* An element that was deleted and is another one now may be met twice. */
static void consider(struct stapy_map *m, struct stapy_monitor_look *look, struct stapy_entry *e)
{
	unsigned int i;

	if (look->cpu >= 0 && !stapy_map_first_twin(m, e, look->cpu))
		return;
	for (i = 0; i < look->count; i++)
		if (look->best[i] == e)
			drop(look, i);
	place(m, look, e, look->cpu);
}

/* False when time was up before the last bucket. */
static bool choose(struct stapy_context *c, struct stapy_map *m, struct stapy_monitor_look *look)
{
	const unsigned int each = look->cpu < 0 ? 1 : 2 * num_possible_cpus();
	struct stapy_entry *e;
	unsigned int work = 0;

	do {
		const struct stapy_table *t = table_of(m, look->cpu);

		while (look->bucket < stapy_buckets(m)) {
			for (e = t->buckets[look->bucket++]; e; e = e->chain) {
				consider(m, look, e);
				work += each;
			}
			if (++work < STRIDE)
				continue;
			work = 0;
			if (stapy_monitor_late(c))
				return false;
		}
	} while (next_table(m, look, false));
	return true;
}

/* Put those that are still there in order by what they are now. */
static void settle(struct stapy_map *m, struct stapy_monitor_look *look)
{
	const struct stapy_monitor_look found = *look;
	unsigned int i;

	look->count = 0;
	look->chosen = true;
	for (i = 0; i < found.count; i++)
		if (is_used(m, table_of(m, found.cpus[i]), found.best[i]))
			place(m, look, found.best[i], found.cpus[i]);
}

static void tell_long(struct stapy_context *c, s64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", value);
	stapy_procfs_add(c, text);
}

static void tell_numbers(struct stapy_context *c, const struct stapy_stat *s)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "{\"count\": %lld, \"sum\": %lld, \"min\": %lld, \"avg\": %lld, \"max\": %lld",
		 s->count, s->sum, s->min, s->count ? div64_s64(s->sum, s->count) : 0, s->max);
	stapy_procfs_add(c, text);
}

/* Those that have values: [number, count]. */
static void tell_buckets(struct stapy_context *c, const struct stapy_stat *s,
			 const struct stapy_stat_shape *shape)
{
	bool first = true;
	char text[64];
	unsigned int i;

	stapy_procfs_add(c, ", \"buckets\": [");
	for (i = 0; i < shape->buckets; i++) {
		if (!s->histogram[i])
			continue;
		snprintf(text, sizeof(text), "%s[%u, %lld]", first ? "" : ", ", i, s->histogram[i]);
		stapy_procfs_add(c, text);
		first = false;
	}
	stapy_procfs_add(c, "]");
}

static void tell_stat(struct stapy_context *c, struct stapy_map *m, const struct stapy_entry *e,
		      bool with_buckets)
{
	struct stapy_stat *s = m->merged;

	stapy_stat_reset(s, &m->row->shape);
	stapy_map_merge_twins(m, s, e);
	tell_numbers(c, s);
	if (with_buckets)
		tell_buckets(c, s, &m->row->shape);
	stapy_procfs_add(c, "}");
}

static void tell_element(struct stapy_context *c, struct stapy_map *m, const struct stapy_entry *e,
			 bool with_buckets)
{
	int i;

	for (i = 0; i < m->nkeys; i++) {
		stapy_procfs_add(c, i ? ", " : "[");
		if (m->strings & 1 << i)
			stapy_procfs_add_json(c, stapy_entry_string_key(m, e, i));
		else
			tell_long(c, *stapy_entry_long_key(m, e, i));
	}
	stapy_procfs_add(c, ", ");
	if (stapy_map_is_stat(m))
		tell_stat(c, m, e, with_buckets);
	else if (m->row->value == STAPY_STRING)
		stapy_procfs_add_json(c, stapy_entry_value(m, e));
	else
		tell_long(c, *(s64 *)stapy_entry_value(m, e));
	stapy_procfs_add(c, "]");
}

/* False when time was up before the last element; one is told in any case. */
static bool tell(struct stapy_context *c, struct stapy_map *m, struct stapy_monitor_look *look)
{
	while (look->told < look->count) {
		const struct stapy_entry *e = look->best[look->told];

		if (!is_used(m, table_of(m, look->cpus[look->told]), e)) {
			drop(look, look->told);
			continue;
		}
		if (look->told++)
			stapy_procfs_add(c, ", ");
		tell_element(c, m, e, false);
		if (stapy_monitor_late(c))
			break;
	}
	return look->told == look->count;
}

/* Where nothing has begun yet, begin. */
static struct stapy_monitor_look *begin(struct stapy_context *c, const struct stapy_map *m, const char *prefix)
{
	struct stapy_monitor_look *look = stapy_procfs_look(c);

	look->moved = true;
	if (look->begun)
		return look;
	look->begun = true;
	look->chosen = false;
	look->count = look->told = 0;
	next_table(m, look, true);
	stapy_procfs_add(c, prefix);
	return look;
}

bool stapy_monitor_array(struct stapy_context *c, struct stapy_map *m, const char *prefix)
{
	struct stapy_monitor_look *look = begin(c, m, prefix);

	if (!look->chosen) {
		if (!choose(c, m, look))
			return false;
		settle(m, look);
		if (stapy_monitor_late(c))
			return false;
	}
	if (!tell(c, m, look))
		return false;
	stapy_procfs_add(c, "]");
	look->begun = false;
	return true;
}

bool stapy_metrics_array(struct stapy_context *c, struct stapy_map *m, const char *prefix, unsigned int most)
{
	struct stapy_monitor_look *look = begin(c, m, prefix);
	char end[64];

	do {
		const struct stapy_table *t = table_of(m, look->cpu);
		unsigned int work = 0;

		while (look->bucket < stapy_buckets(m)) {
			const struct stapy_entry *e;

			for (e = t->buckets[look->bucket++]; e; e = e->chain) {
				work += (look->cpu < 0 ? 4 : 4 * num_possible_cpus()) + m->row->shape.buckets / 32;
				if (look->cpu >= 0 && !stapy_map_first_twin(m, e, look->cpu))
					continue;
				if (look->told == most) {
					look->count++;
					continue;
				}
				if (look->told++)
					stapy_procfs_add(c, ", ");
				tell_element(c, m, e, true);
			}
			if (++work < STRIDE)
				continue;
			work = 0;
			if (stapy_monitor_late(c))
				return false;
		}
	} while (next_table(m, look, false));
	snprintf(end, sizeof(end), "], \"left_out\": %u}", look->count);
	stapy_procfs_add(c, end);
	look->begun = false;
	return true;
}

void stapy_metrics_stat(struct stapy_context *c, struct stapy_statvar *v, const struct stapy_stat_shape *shape)
{
	const struct stapy_stat *s = stapy_stat_read(v);

	stapy_procfs_add(c, "[");
	tell_numbers(c, s);
	tell_buckets(c, s, shape);
	stapy_procfs_add(c, "}]");
}

void stapy_metrics_add(struct stapy_context *c, const char *text)
{
	stapy_procfs_add(c, text);
}

void stapy_metrics_long(struct stapy_context *c, s64 value)
{
	stapy_procfs_add(c, "[");
	tell_long(c, value);
	stapy_procfs_add(c, "]");
}

void stapy_metrics_text(struct stapy_context *c, const char *text)
{
	stapy_procfs_add(c, "[");
	stapy_procfs_add_json(c, text);
	stapy_procfs_add(c, "]");
}

/* Others may add elements meanwhile: no more are taken out than there can be. */
bool stapy_monitor_clear(struct stapy_context *c, struct stapy_map *m)
{
	struct stapy_monitor_look *look = begin(c, m, "");

	do {
		struct stapy_table *t = table_of(m, look->cpu);

		while (!list_empty(&t->used) && look->bucket++ < m->size) {
			struct stapy_entry *e = list_first_entry(&t->used, struct stapy_entry, list);

			stapy_table_unchain(m, t, e);
			stapy_list_move(&e->list, &t->free, false);
			if (look->bucket % STRIDE == 0 && stapy_monitor_late(c))
				return false;
		}
	} while (next_table(m, look, false));
	look->begun = false;
	return true;
}

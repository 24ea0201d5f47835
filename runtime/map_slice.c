// SPDX-License-Identifier: GPL-2.0-or-later
/* Array slices, and what arrays of statistics need to be seen as one over all CPUs. */
#include "map_internal.h"

void stapy_map_merge_twins(struct stapy_map *m, struct stapy_stat *to, const struct stapy_entry *e)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct stapy_entry *twin = stapy_table_twin(m, per_cpu_ptr(m->parts, cpu), e);

		if (twin)
			stapy_stat_merge(to, stapy_entry_value(m, twin), &m->row->shape);
	}
}

bool stapy_map_first_twin(const struct stapy_map *m, const struct stapy_entry *e, int cpu)
{
	int earlier;

	for_each_possible_cpu(earlier) {
		if (earlier == cpu)
			break;
		if (stapy_table_twin(m, per_cpu_ptr(m->parts, earlier), e))
			return false;
	}
	return true;
}

static bool table_has(const struct stapy_map *m, const struct stapy_table *t,
		      const union stapy_key *keys, const u8 *any)
{
	struct stapy_entry *e;

	list_for_each_entry(e, &t->used, list)
		if (stapy_entry_matches(m, e, keys, any))
			return true;
	return false;
}

bool stapy_map_has_slice(struct stapy_map *m, const union stapy_key *keys, const u8 *any)
{
	int cpu;

	if (!stapy_map_is_stat(m))
		return table_has(m, &m->whole, keys, any);
	for_each_possible_cpu(cpu)
		if (table_has(m, per_cpu_ptr(m->parts, cpu), keys, any))
			return true;
	return false;
}

static void table_delete(struct stapy_map *m, struct stapy_table *t, const union stapy_key *keys,
			 const u8 *any)
{
	struct stapy_entry *e, *next;

	list_for_each_entry_safe(e, next, &t->used, list) {
		if (stapy_entry_matches(m, e, keys, any)) {
			stapy_table_unchain(m, t, e);
			stapy_list_move(&e->list, &t->free, false);
		}
	}
}

void stapy_map_delete_slice(struct stapy_map *m, const union stapy_key *keys, const u8 *any)
{
	int cpu;

	if (!stapy_map_is_stat(m)) {
		table_delete(m, &m->whole, keys, any);
		return;
	}
	for_each_possible_cpu(cpu)
		table_delete(m, per_cpu_ptr(m->parts, cpu), keys, any);
}

const struct stapy_stat *stapy_map_stat_slice(struct stapy_map *m, const union stapy_key *keys,
					      const u8 *any)
{
	bool found = false;
	int cpu;

	stapy_stat_reset(m->merged, &m->row->shape);
	for_each_possible_cpu(cpu) {
		struct stapy_table *t = per_cpu_ptr(m->parts, cpu);
		struct stapy_entry *e;

		list_for_each_entry(e, &t->used, list) {
			if (!stapy_entry_matches(m, e, keys, any))
				continue;
			stapy_stat_merge(m->merged, stapy_entry_value(m, e), &m->row->shape);
			found = true;
		}
	}
	return found ? m->merged : NULL;
}

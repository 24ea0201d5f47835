// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of arrays and statistics: all of it at start. */
#include "map_internal.h"

/* Keys and value behind the entry, numbers aligned. */
static void lay_out(struct stapy_map *m)
{
	const struct stapy_storage *row = m->row;
	u32 at = sizeof(struct stapy_entry);
	int i;

	BUILD_BUG_ON(sizeof(struct stapy_entry) % sizeof(s64));
	BUILD_BUG_ON(ARRAY_SIZE(row->keys) > 8 * sizeof(m->strings));

	for (i = 0; i < row->nkeys; i++) {
		bool is_long = row->keys[i] == STAPY_LONG;

		m->key_bytes[i] = is_long ? sizeof(s64) :
				  row->key_bytes[i] ?: stapy_session.limits.maxstringlen;
		m->key_offset[i] = at;
		/* Whole words: strings are stored with zeros up to the end of one. */
		at += ALIGN(m->key_bytes[i], 8);
		m->strings |= !is_long << i;
	}
	m->value_offset = at;
	switch (row->value) {
	case STAPY_LONG:
		m->value_bytes = sizeof(s64);
		break;
	case STAPY_STRING:
		m->value_bytes = row->value_bytes ?: stapy_session.limits.maxstringlen;
		break;
	case STAPY_STAT:
		m->value_bytes = stapy_stat_bytes(&row->shape);
		break;
	}
	m->entry_bytes = ALIGN(at + m->value_bytes, 8);
}

static u64 table_bytes(const struct stapy_map *m)
{
	return (u64)stapy_buckets(m) * sizeof(struct stapy_entry *) + (u64)m->size * m->entry_bytes;
}

static int table_alloc(const struct stapy_map *m, struct stapy_table *t, int node)
{
	unsigned int i;

	INIT_LIST_HEAD(&t->used);
	INIT_LIST_HEAD(&t->free);
	t->buckets = stapy_alloc_node(stapy_buckets(m) * sizeof(*t->buckets), node);
	t->memory = stapy_alloc_node((size_t)m->size * m->entry_bytes, node);
	if (!t->buckets || !t->memory)
		return -ENOMEM;
	for (i = 0; i < m->size; i++) {
		struct stapy_entry *e = t->memory + (size_t)i * m->entry_bytes;

		list_add_tail(&e->list, &t->free);
	}
	return 0;
}

static void table_free(struct stapy_table *t)
{
	kvfree(t->buckets);
	kvfree(t->memory);
}

static void map_free(struct stapy_map *m)
{
	int cpu;

	if (!m)
		return;
	table_free(&m->whole);
	if (m->parts) {
		for_each_possible_cpu(cpu)
			table_free(per_cpu_ptr(m->parts, cpu));
		free_percpu(m->parts);
	}
	kvfree(m->merged);
	kfree(m);
}

static int parts_alloc(struct stapy_map *m)
{
	int cpu, r;

	m->parts = alloc_percpu(struct stapy_table);
	m->merged = stapy_alloc(1, stapy_stat_bytes(&m->row->shape));
	if (!m->parts || !m->merged)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		r = table_alloc(m, per_cpu_ptr(m->parts, cpu), cpu_to_node(cpu));
		if (r)
			return r;
	}
	return 0;
}

static int map_plan(struct stapy_storage *row)
{
	struct stapy_map *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	*row->map = m;
	m->row = row;
	m->size = row->size > 0 ? row->size : max(stapy_session.limits.maxmapentries, 1);
	m->shift = 32 - max(order_base_2(m->size), 1);
	m->nkeys = row->nkeys;
	lay_out(m);
	return 0;
}

int stapy_maps_plan(void)
{
	unsigned int i;
	int r = 0;

	for (i = 0; i < stapy_session.nr_storage && !r; i++) {
		struct stapy_storage *row = &stapy_session.storage[i];

		if (row->value == STAPY_STAT)
			stapy_stat_shape_buckets(&row->shape);
		if (row->map)
			r = map_plan(row);
	}
	return r;
}

u64 stapy_storage_bytes(const struct stapy_storage *row)
{
	u64 bytes = row->map ? table_bytes(*row->map) : stapy_stat_bytes(&row->shape);

	return row->value == STAPY_STAT ? bytes * num_possible_cpus() : bytes;
}

static int storage_alloc(struct stapy_storage *row)
{
	if (row->map) {
		struct stapy_map *m = *row->map;

		return stapy_map_is_stat(m) ? parts_alloc(m) :
					      table_alloc(m, &m->whole, NUMA_NO_NODE);
	}
	*row->stat = stapy_statvar_alloc(&row->shape);
	return *row->stat ? 0 : -ENOMEM;
}

int stapy_maps_alloc(void)
{
	unsigned int i;

	int r = 0;

	for (i = 0; i < stapy_session.nr_storage && !r; i++)
		r = fatal_signal_pending(current) ? -EINTR : storage_alloc(&stapy_session.storage[i]);
	return r;
}

void stapy_maps_free(void)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_storage; i++) {
		struct stapy_storage *row = &stapy_session.storage[i];

		if (row->map) {
			map_free(*row->map);
			*row->map = NULL;
		} else {
			stapy_statvar_free(*row->stat);
			*row->stat = NULL;
		}
	}
}

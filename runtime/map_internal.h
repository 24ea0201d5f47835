/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How arrays are laid out: shared by map*.c. */
#ifndef STAPY_MAP_INTERNAL_H
#define STAPY_MAP_INTERNAL_H

#include "internal.h"

/* An element; keys and the value follow at the map's offsets. */
struct stapy_entry {
	struct stapy_entry *chain;	/* next in the hash bucket */
	struct stapy_entry *order;	/* next in the order of the last sort */
	struct list_head list;		/* used: oldest first; or free */
	s64 rank;			/* value of a statistic for sorting */
	u32 hash;
};

struct stapy_table {
	struct stapy_entry **buckets;
	struct list_head used;
	struct list_head free;
	void *memory;
};

struct stapy_map {
	const struct stapy_storage *row;
	struct stapy_table whole;		/* arrays of numbers and strings */
	struct stapy_table __percpu *parts;	/* arrays of statistics: one for each CPU */
	unsigned int size;
	unsigned int shift;			/* the upper bits of a hash are the bucket's number */
	u16 nkeys;
	u16 strings;				/* bits: keys that are strings */
	u32 key_offset[9];
	u32 key_bytes[9];
	u32 value_offset;
	u32 value_bytes;
	u32 entry_bytes;
	struct stapy_stat *merged;		/* result of the last read of a statistic */
};

static inline bool stapy_map_is_stat(const struct stapy_map *m)
{
	return m->row->value == STAPY_STAT;
}

static inline void *stapy_entry_value(const struct stapy_map *m, const struct stapy_entry *e)
{
	return (char *)e + m->value_offset;
}

static inline s64 *stapy_entry_long_key(const struct stapy_map *m, const struct stapy_entry *e, int i)
{
	return (s64 *)((char *)e + m->key_offset[i]);
}

static inline char *stapy_entry_string_key(const struct stapy_map *m, const struct stapy_entry *e,
					   int i)
{
	return (char *)e + m->key_offset[i];
}

static inline struct stapy_entry **stapy_bucket(const struct stapy_map *m,
						const struct stapy_table *t, u32 hash)
{
	return &t->buckets[hash >> m->shift];
}

static inline unsigned int stapy_buckets(const struct stapy_map *m)
{
	return 1u << (32 - m->shift);
}

/*
 * Without the kernel's optional checks, which take longer than the move: nobody
 * but the holder of the array's lock has these lists.
 */
static inline void stapy_list_move(struct list_head *e, struct list_head *head, bool last)
{
	struct list_head *before;

	__list_del(e->prev, e->next);
	before = last ? head->prev : head;
	e->prev = before;
	e->next = before->next;
	before->next->prev = e;
	before->next = e;
}

/* The element of another table that has the same keys as e. */
struct stapy_entry *stapy_table_twin(const struct stapy_map *m, const struct stapy_table *t,
				     const struct stapy_entry *e);
/* Take an element out of its bucket; it stays on its list. */
void stapy_table_unchain(struct stapy_map *m, struct stapy_table *t, struct stapy_entry *e);
bool stapy_entry_matches(const struct stapy_map *m, const struct stapy_entry *e,
			 const union stapy_key *keys, const u8 *any);
/* Merge the parts of an element of a statistic over all CPUs. */
void stapy_map_merge_twins(struct stapy_map *m, struct stapy_stat *to, const struct stapy_entry *e);
/* What an element is sorted by; op says what of a statistic. */
s64 stapy_map_rank(struct stapy_map *m, const struct stapy_entry *e, int op);
/* Is e the first of its twins, in the order of CPUs? Each element is visited once by that. */
bool stapy_map_first_twin(const struct stapy_map *m, const struct stapy_entry *e, int cpu);

#endif

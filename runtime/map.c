// SPDX-License-Identifier: GPL-2.0-or-later
/* Associative arrays: finding, adding and removing elements. */
#include "map_find.h"

bool stapy_entry_matches(const struct stapy_map *m, const struct stapy_entry *e,
			 const union stapy_key *keys, const u8 *any)
{
	int i;

	for (i = 0; i < m->nkeys; i++) {
		if (any && any[i])
			continue;
		if (m->strings & 1 << i) {
			if (!same_string(word_in(m, e, i), keys[i].s, m->key_bytes[i] - 1))
				return false;
		} else if (*stapy_entry_long_key(m, e, i) != keys[i].n) {
			return false;
		}
	}
	return true;
}

static void keys_of(const struct stapy_map *m, const struct stapy_entry *e, union stapy_key *keys)
{
	int i;

	for (i = 0; i < m->nkeys; i++) {
		if (m->strings & 1 << i)
			keys[i].s = stapy_entry_string_key(m, e, i);
		else
			keys[i].n = *stapy_entry_long_key(m, e, i);
	}
}

struct stapy_entry *stapy_table_twin(const struct stapy_map *m, const struct stapy_table *t,
				     const struct stapy_entry *e)
{
	union stapy_key keys[9] STAPY_UNSET;
	struct sought s STAPY_UNSET;

	keys_of(m, e, keys);
	seek(m, keys, &s);
	return find(m, t, &s);
}

/* Take an element out of its bucket; it stays on its list. */
void stapy_table_unchain(struct stapy_map *m, struct stapy_table *t, struct stapy_entry *e)
{
	struct stapy_entry **at = stapy_bucket(m, t, e->hash);

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
}

/* All words of a string, the last one filled up with zeros. */
static void store_string(u64 *to, const char *from, size_t most)
{
	bool end = false;

	for (; !end; from += STAPY_WORD, most -= STAPY_WORD)
		*to++ = stapy_word_of(from, most, &end);
}

static __always_inline void store_keys(const struct stapy_map *m, struct stapy_entry *e,
				       const struct sought *s)
{
	int i;

	e->hash = s->hash;
	for (i = 0; i < m->nkeys; i++) {
		u64 *to = word_in(m, e, i);

		*to = s->first[i];
		if (unlikely(s->longer & 1 << i))
			store_string(to + 1, s->keys[i].s + STAPY_WORD,
				     m->key_bytes[i] - 1 - STAPY_WORD);
	}
}

static void reset_value(const struct stapy_map *m, struct stapy_entry *e)
{
	void *value = stapy_entry_value(m, e);

	switch (m->row->value) {
	case STAPY_LONG:
		*(s64 *)value = 0;
		break;
	case STAPY_STRING:
		*(char *)value = '\0';
		break;
	case STAPY_STAT:
		stapy_stat_reset(value, &m->row->shape);
		break;
	}
}

static bool overflow(struct stapy_context *c, const struct stapy_map *m, const char *place)
{
	if (m->row->size_set)
		return stapy_error(c, place, "Array overflow, check size limit (%u)", m->size);
	return stapy_error(c, place, "Array overflow, check MAXMAPENTRIES");
}

/* An unused element, in a wrapping array the oldest one; NULL when the array is full. */
static struct stapy_entry *new_entry(struct stapy_map *m, struct stapy_table *t)
{
	struct stapy_entry *e;

	if (likely(!list_empty(&t->free)))
		return list_first_entry(&t->free, struct stapy_entry, list);
	if (!m->row->wrap || list_empty(&t->used))
		return NULL;
	e = list_first_entry(&t->used, struct stapy_entry, list);
	stapy_table_unchain(m, t, e);
	return e;
}

static noinline void *add_entry(struct stapy_context *c, struct stapy_map *m, struct stapy_table *t,
				const struct sought *s, const char *place)
{
	struct stapy_entry *e = new_entry(m, t), **bucket = stapy_bucket(m, t, s->hash);

	if (!e) {
		overflow(c, m, place);
		return NULL;
	}
	store_keys(m, e, s);
	reset_value(m, e);
	e->chain = *bucket;
	*bucket = e;
	stapy_list_move(&e->list, &t->used, true);
	return stapy_entry_value(m, e);
}

static noinline void *slot_of_keys(struct stapy_context *c, struct stapy_map *m,
				   struct stapy_table *t, const union stapy_key *keys,
				   const char *place)
{
	struct sought s STAPY_UNSET;
	struct stapy_entry *e;

	seek(m, keys, &s);
	e = find(m, t, &s);
	if (likely(e))
		return stapy_entry_value(m, e);
	return add_entry(c, m, t, &s, place);
}

static noinline void *add_long(struct stapy_context *c, struct stapy_map *m, struct stapy_table *t,
			       s64 key, const char *place)
{
	struct sought s STAPY_UNSET;

	s.hash = hash_of_long(key);
	s.longer = 0;
	s.first[0] = key;
	return add_entry(c, m, t, &s, place);
}

static __always_inline void *slot_in(struct stapy_context *c, struct stapy_map *m,
				     struct stapy_table *t, const union stapy_key *keys,
				     const char *place)
{
	struct stapy_entry *e;

	if (!one_long(m))
		return slot_of_keys(c, m, t, keys, place);
	e = find_long(m, t, keys[0].n);
	if (likely(e))
		return stapy_entry_value(m, e);
	return add_long(c, m, t, keys[0].n, place);
}

s64 *stapy_map_slot(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys,
		    const char *place)
{
	return slot_in(c, m, &m->whole, keys, place);
}

bool stapy_map_set_string(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys,
			  const char *value, const char *place)
{
	char *slot = slot_in(c, m, &m->whole, keys, place);

	if (!slot)
		return false;
	stapy_copy(slot, value, m->value_bytes);
	return true;
}

bool stapy_map_add(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys, s64 value,
		   const char *place)
{
	struct stapy_stat *s = slot_in(c, m, this_cpu_ptr(m->parts), keys, place);

	if (!s)
		return false;
	stapy_stat_record(s, &m->row->shape, value);
	return true;
}

static noinline struct stapy_entry *find_keys(const struct stapy_map *m,
					      const struct stapy_table *t,
					      const union stapy_key *keys)
{
	struct sought s STAPY_UNSET;

	seek(m, keys, &s);
	return find(m, t, &s);
}

static __always_inline struct stapy_entry *find_whole(const struct stapy_map *m,
						      const union stapy_key *keys)
{
	return one_long(m) ? find_long(m, &m->whole, keys[0].n) : find_keys(m, &m->whole, keys);
}

s64 stapy_map_get_long(struct stapy_map *m, const union stapy_key *keys)
{
	struct stapy_entry *e = find_whole(m, keys);

	return e ? *(s64 *)stapy_entry_value(m, e) : 0;
}

const char *stapy_map_get_string(struct stapy_map *m, const union stapy_key *keys)
{
	struct stapy_entry *e = find_whole(m, keys);

	return e ? stapy_entry_value(m, e) : "";
}

void *stapy_map_find(struct stapy_map *m, const union stapy_key *keys)
{
	struct stapy_entry *e = find_whole(m, keys);

	return e ? stapy_entry_value(m, e) : NULL;
}

static noinline bool parts_have(struct stapy_map *m, const union stapy_key *keys)
{
	struct sought s STAPY_UNSET;
	int cpu;

	seek(m, keys, &s);
	for_each_possible_cpu(cpu)
		if (find(m, per_cpu_ptr(m->parts, cpu), &s))
			return true;
	return false;
}

bool stapy_map_has(struct stapy_map *m, const union stapy_key *keys)
{
	return stapy_map_is_stat(m) ? parts_have(m, keys) : find_whole(m, keys) != NULL;
}

const struct stapy_stat *stapy_map_stat(struct stapy_map *m, const union stapy_key *keys)
{
	struct sought s STAPY_UNSET;
	bool found = false;
	int cpu;

	seek(m, keys, &s);
	stapy_stat_reset(m->merged, &m->row->shape);
	for_each_possible_cpu(cpu) {
		struct stapy_entry *e = find(m, per_cpu_ptr(m->parts, cpu), &s);

		if (!e)
			continue;
		stapy_stat_merge(m->merged, stapy_entry_value(m, e), &m->row->shape);
		found = true;
	}
	return found ? m->merged : NULL;
}

static __always_inline void delete_in(struct stapy_map *m, struct stapy_table *t,
				      struct stapy_entry *e)
{
	if (!e)
		return;
	stapy_table_unchain(m, t, e);
	stapy_list_move(&e->list, &t->free, false);
}

static noinline void delete_parts(struct stapy_map *m, const union stapy_key *keys)
{
	struct sought s STAPY_UNSET;
	int cpu;

	seek(m, keys, &s);
	for_each_possible_cpu(cpu) {
		struct stapy_table *t = per_cpu_ptr(m->parts, cpu);

		delete_in(m, t, find(m, t, &s));
	}
}

void stapy_map_delete(struct stapy_map *m, const union stapy_key *keys)
{
	if (stapy_map_is_stat(m))
		delete_parts(m, keys);
	else
		delete_in(m, &m->whole, find_whole(m, keys));
}

void stapy_map_delete_found(struct stapy_map *m, const void *value)
{
	delete_in(m, &m->whole, (void *)value - m->value_offset);
}

static void clear_table(struct stapy_map *m, struct stapy_table *t)
{
	memset(t->buckets, 0, stapy_buckets(m) * sizeof(*t->buckets));
	list_splice_init(&t->used, &t->free);
}

void stapy_map_clear(struct stapy_map *m)
{
	int cpu;

	if (!stapy_map_is_stat(m)) {
		clear_table(m, &m->whole);
		return;
	}
	for_each_possible_cpu(cpu)
		clear_table(m, per_cpu_ptr(m->parts, cpu));
}

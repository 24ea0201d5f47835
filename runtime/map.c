// SPDX-License-Identifier: GPL-2.0-or-later
/* Associative arrays: finding, adding and removing elements. */
#include "map_internal.h"
#include "compat/linux/word_at_a_time.h"

#ifdef CONFIG_DCACHE_WORD_ACCESS
#define WORD sizeof(unsigned long)

/*
 * The next characters of a string as a word, `most` at most, with zeros from its
 * end on; *end says that it ended in here. A word may reach into a page that is
 * not there: its bytes read as zeros.
 */
static __always_inline unsigned long word_of(const char *s, unsigned int most, bool *end)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	unsigned long word = load_unaligned_zeropad(s), zeros;

	*end = has_zero(word, &zeros, &constants);
	if (*end) {
		zeros = prep_zero_mask(word, zeros, &constants);
		word &= zero_bytemask(create_zero_mask(zeros));
	}
	if (most < WORD) {
		word &= bytemask_from_count(most);
		*end = true;
	}
	return word;
}

static __always_inline u64 hash_string(const char *s, unsigned int most)
{
	u64 h = 0;
	bool end = !most;

	for (; !end; s += WORD, most -= WORD) {
		h = (h ^ word_of(s, most, &end)) * STAPY_MIX;
		h ^= h >> 32;
	}
	return h;
}

static __always_inline bool same_string(const char *a, const char *b, unsigned int most)
{
	bool end = !most, other = end;

	for (; !end; a += WORD, b += WORD, most -= WORD)
		if (word_of(a, most, &end) != word_of(b, most, &other) || end != other)
			return false;
	return true;
}
#else
static __always_inline u64 hash_string(const char *s, unsigned int most)
{
	u64 h = 0;

	while (most-- && *s)
		h = h * 31 + (u8)*s++;
	return h;
}

static __always_inline bool same_string(const char *a, const char *b, unsigned int most)
{
	for (; most && *a == *b; most--, a++, b++)
		if (!*a)
			return true;
	return !most;
}
#endif

u32 stapy_map_hash(const struct stapy_map *m, const union stapy_key *keys)
{
	u64 h = 0;
	int i;

	if (m->one_long)
		return stapy_hash_long(keys[0].n);
	if (m->one_string)
		return stapy_hash_long(hash_string(keys[0].s, m->key_bytes[0] - 1));
	for (i = 0; i < m->row->nkeys; i++) {
		u64 part = m->row->keys[i] == STAPY_LONG ? (u64)keys[i].n :
			   hash_string(keys[i].s, m->key_bytes[i] - 1);

		h = (h ^ part) * STAPY_MIX;
		h ^= h >> 32;
	}
	return h;
}

static __always_inline struct stapy_entry *find_string(const struct stapy_map *m,
							const struct stapy_table *t, u32 hash,
							const char *key)
{
	struct stapy_entry *e = t->buckets[hash & m->mask];

	/* Keys follow the entry, the first one at once. */
	while (e && (e->hash != hash || !same_string((char *)(e + 1), key, m->key_bytes[0] - 1)))
		e = e->chain;
	return e;
}

static __always_inline bool same_key(const struct stapy_map *m, const struct stapy_entry *e, int i,
				     union stapy_key key)
{
	if (m->row->keys[i] == STAPY_LONG)
		return *stapy_entry_long_key(m, e, i) == key.n;
	return same_string(stapy_entry_string_key(m, e, i), key.s, m->key_bytes[i] - 1);
}

bool stapy_entry_matches(const struct stapy_map *m, const struct stapy_entry *e,
			 const union stapy_key *keys, const u8 *any)
{
	int i;

	for (i = 0; i < m->row->nkeys; i++)
		if (!(any && any[i]) && !same_key(m, e, i, keys[i]))
			return false;
	return true;
}

struct stapy_entry *stapy_table_find(const struct stapy_map *m, const struct stapy_table *t, u32 hash,
				     const union stapy_key *keys)
{
	struct stapy_entry *e;

	for (e = t->buckets[hash & m->mask]; e; e = e->chain)
		if (e->hash == hash && stapy_entry_matches(m, e, keys, NULL))
			return e;
	return NULL;
}

static void keys_of(const struct stapy_map *m, const struct stapy_entry *e, union stapy_key *keys)
{
	int i;

	for (i = 0; i < m->row->nkeys; i++) {
		if (m->row->keys[i] == STAPY_LONG)
			keys[i].n = *stapy_entry_long_key(m, e, i);
		else
			keys[i].s = stapy_entry_string_key(m, e, i);
	}
}

struct stapy_entry *stapy_table_twin(const struct stapy_map *m, const struct stapy_table *t,
				     const struct stapy_entry *e)
{
	union stapy_key keys[9];

	keys_of(m, e, keys);
	return stapy_table_find(m, t, e->hash, keys);
}

/* Take an element out of its bucket; it stays on its list. */
void stapy_table_unchain(struct stapy_map *m, struct stapy_table *t, struct stapy_entry *e)
{
	struct stapy_entry **at = &t->buckets[e->hash & m->mask];

	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
}

static void store_keys(const struct stapy_map *m, struct stapy_entry *e, const union stapy_key *keys)
{
	int i;

	for (i = 0; i < m->row->nkeys; i++) {
		if (m->row->keys[i] == STAPY_LONG)
			*stapy_entry_long_key(m, e, i) = keys[i].n;
		else
			stapy_copy(stapy_entry_string_key(m, e, i), keys[i].s, m->key_bytes[i]);
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
				u32 hash, const union stapy_key *keys, const char *place)
{
	struct stapy_entry *e = new_entry(m, t);

	if (!e) {
		overflow(c, m, place);
		return NULL;
	}
	e->hash = hash;
	store_keys(m, e, keys);
	reset_value(m, e);
	e->chain = t->buckets[hash & m->mask];
	t->buckets[hash & m->mask] = e;
	list_move_tail(&e->list, &t->used);
	return stapy_entry_value(m, e);
}

static __always_inline void *slot_in(struct stapy_context *c, struct stapy_map *m,
				     struct stapy_table *t, const union stapy_key *keys,
				     const char *place)
{
	struct stapy_entry *e;
	u32 hash;

	if (m->one_long) {
		hash = stapy_hash_long(keys[0].n);
		e = stapy_table_find_long(m, t, hash, keys[0].n);
	} else if (m->one_string) {
		hash = stapy_hash_long(hash_string(keys[0].s, m->key_bytes[0] - 1));
		e = find_string(m, t, hash, keys[0].s);
	} else {
		hash = stapy_map_hash(m, keys);
		e = stapy_table_find(m, t, hash, keys);
	}
	if (likely(e))
		return stapy_entry_value(m, e);
	return add_entry(c, m, t, hash, keys, place);
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

static struct stapy_entry *find_whole(const struct stapy_map *m, const union stapy_key *keys)
{
	return stapy_table_find(m, &m->whole, stapy_map_hash(m, keys), keys);
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

bool stapy_map_has(struct stapy_map *m, const union stapy_key *keys)
{
	u32 hash = stapy_map_hash(m, keys);
	int cpu;

	if (!stapy_map_is_stat(m))
		return stapy_table_find(m, &m->whole, hash, keys);
	for_each_possible_cpu(cpu)
		if (stapy_table_find(m, per_cpu_ptr(m->parts, cpu), hash, keys))
			return true;
	return false;
}

const struct stapy_stat *stapy_map_stat(struct stapy_map *m, const union stapy_key *keys)
{
	u32 hash = stapy_map_hash(m, keys);
	bool found = false;
	int cpu;

	stapy_stat_reset(m->merged, &m->row->shape);
	for_each_possible_cpu(cpu) {
		struct stapy_entry *e = stapy_table_find(m, per_cpu_ptr(m->parts, cpu), hash, keys);

		if (!e)
			continue;
		stapy_stat_merge(m->merged, stapy_entry_value(m, e), &m->row->shape);
		found = true;
	}
	return found ? m->merged : NULL;
}

static void delete_in(struct stapy_map *m, struct stapy_table *t, struct stapy_entry *e)
{
	stapy_table_unchain(m, t, e);
	list_move(&e->list, &t->free);
}

void stapy_map_delete(struct stapy_map *m, const union stapy_key *keys)
{
	u32 hash = stapy_map_hash(m, keys);
	struct stapy_entry *e;
	int cpu;

	if (!stapy_map_is_stat(m)) {
		e = stapy_table_find(m, &m->whole, hash, keys);
		if (e)
			delete_in(m, &m->whole, e);
		return;
	}
	for_each_possible_cpu(cpu) {
		struct stapy_table *t = per_cpu_ptr(m->parts, cpu);

		e = stapy_table_find(m, t, hash, keys);
		if (e)
			delete_in(m, t, e);
	}
}

static void clear_table(struct stapy_map *m, struct stapy_table *t)
{
	memset(t->buckets, 0, (m->mask + 1) * sizeof(*t->buckets));
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

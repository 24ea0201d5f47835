/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding elements of arrays by their keys: inline, for map.c. */
#ifndef STAPY_MAP_FIND_H
#define STAPY_MAP_FIND_H

#include "map_internal.h"
#include "words.h"

/* Keys that are looked for. */
struct sought {
	u32 hash;
	u16 longer;			/* bits: strings that go on behind their first word */
	bool whole;			/* one key, and it is no longer than first[0] */
	u64 first[9];			/* a number, or the first word of a string */
	u32 full[9];			/* of a string that goes on: words behind that, without its end */
	const union stapy_key *keys;
};

static __always_inline u64 mix(u64 h, u64 part)
{
	h = (h ^ part) * STAPY_MIX;
	return h ^ h >> 32;
}

/* What a string behind its first word adds to the hash, and how many words it fills there. */
static noinline u64 mix_rest(u64 h, const char *s, size_t most, u32 *full)
{
	const char *start = s + STAPY_WORD;
	u64 word;
	bool end;

	for (s = start, most -= STAPY_WORD; stapy_word_full(s, most, &word);
	     s += STAPY_WORD, most -= STAPY_WORD)
		h = rol64((h ^ word) * STAPY_MIX, 32);
	*full = (s - start) / STAPY_WORD;
	return mix(h, stapy_word_of(s, most, &end));
}

/* A key's part of the hash; its first word goes into s. */
static __always_inline u64 seek_key(const struct stapy_map *m, int i, struct sought *s)
{
	size_t most = m->key_bytes[i] - 1;
	bool end;

	if (!(m->strings & 1 << i))
		return s->first[i] = s->keys[i].n;
	s->first[i] = stapy_word_of(s->keys[i].s, most, &end);
	if (likely(end))
		return s->first[i];
	s->longer |= 1 << i;
	return mix_rest(s->first[i], s->keys[i].s, most, &s->full[i]);
}

static __always_inline void seek(const struct stapy_map *m, const union stapy_key *keys,
				 struct sought *s)
{
	u64 h;
	int i;

	s->keys = keys;
	s->longer = 0;
	h = seek_key(m, 0, s);
	s->whole = m->nkeys == 1 && !s->longer;
	for (i = 1; i < m->nkeys; i++)
		h = mix(h, seek_key(m, i, s));
	s->hash = h * STAPY_MIX >> 32;
}

/* The first word of a stored key. */
static __always_inline u64 *word_in(const struct stapy_map *m, const struct stapy_entry *e, int i)
{
	return (u64 *)((char *)e + m->key_offset[i]);
}

/* A string and one that is stored, with zeros up to the end of its last word. */
static __always_inline bool same_string(const u64 *stored, const char *s, size_t most)
{
	bool end;
	u64 word;

	for (;; stored++, s += STAPY_WORD, most -= STAPY_WORD) {
		word = stapy_word_of(s, most, &end);
		if (*stored != word)
			return false;
		if (end)
			return true;
	}
}

/* The same behind the first word: up to the last one of what is sought, none of them ends it. */
static __always_inline bool same_rest(const u64 *stored, const char *s, size_t most, u32 full)
{
	const u64 *last = stored + full;
	u64 word;

	for (; stored < last; stored++, s += STAPY_WORD) {
		memcpy(&word, s, sizeof(word));
		if (*stored != word)
			return false;
	}
	return same_string(stored, s, most - full * STAPY_WORD);
}

static noinline bool same_keys(const struct stapy_map *m, const struct stapy_entry *e,
			       const struct sought *s)
{
	int i;

	if (e->hash != s->hash)
		return false;
	for (i = 0; i < m->nkeys; i++) {
		if (*word_in(m, e, i) != s->first[i])
			return false;
		if (s->longer & 1 << i &&
		    !same_rest(word_in(m, e, i) + 1, s->keys[i].s + STAPY_WORD,
			       m->key_bytes[i] - 1 - STAPY_WORD, s->full[i]))
			return false;
	}
	return true;
}

static __always_inline struct stapy_entry *find(const struct stapy_map *m,
						const struct stapy_table *t,
						const struct sought *s)
{
	struct stapy_entry *e = *stapy_bucket(m, t, s->hash);

	/* Keys follow the entry, the first one at once. */
	while (e && (*(u64 *)(e + 1) != s->first[0] || !(s->whole || same_keys(m, e, s))))
		e = e->chain;
	return e;
}

/* A single number, the most frequent key, is found without all this. */
static __always_inline bool one_long(const struct stapy_map *m)
{
	return m->nkeys == 1 && !m->strings;
}

static __always_inline u32 hash_of_long(s64 key)
{
	return (u64)key * STAPY_MIX >> 32;
}

static __always_inline struct stapy_entry *find_long(const struct stapy_map *m,
						     const struct stapy_table *t, s64 key)
{
	struct stapy_entry *e = *stapy_bucket(m, t, hash_of_long(key));

	while (e && *(s64 *)(e + 1) != key)
		e = e->chain;
	return e;
}

#endif

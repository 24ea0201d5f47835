/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Associative arrays. Entries are allocated at start; the caller holds the global's lock. */
#ifndef STAPY_MAP_H
#define STAPY_MAP_H

union stapy_key {
	s64 n;
	const char *s;
};

struct stapy_map;
struct stapy_stat;

/* Values of an element; 0 and "" when it is not there. */
s64 stapy_map_get_long(struct stapy_map *m, const union stapy_key *keys);
const char *stapy_map_get_string(struct stapy_map *m, const union stapy_key *keys);
bool stapy_map_has(struct stapy_map *m, const union stapy_key *keys);
/*
 * The value of an element of numbers or strings where it lies, NULL when it is not there. It stays there
 * until the element is taken out; an element that is added to a wrapping array may take its place.
 */
void *stapy_map_find(struct stapy_map *m, const union stapy_key *keys);

/* The element's value, made (0) when it is not there; NULL with the overflow error set when the array is full. */
s64 *stapy_map_slot(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys, const char *place);
bool stapy_map_set_string(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys,
			  const char *value, const char *place);
/* a[keys] <<< value, on this CPU's part of the array. */
bool stapy_map_add(struct stapy_context *c, struct stapy_map *m, const union stapy_key *keys, s64 value,
		   const char *place);
/* Statistic of one element over all CPUs; NULL when it is not there. Valid until the next call on this map. */
const struct stapy_stat *stapy_map_stat(struct stapy_map *m, const union stapy_key *keys);

void stapy_map_delete(struct stapy_map *m, const union stapy_key *keys);
void stapy_map_delete_found(struct stapy_map *m, const void *value);	/* what stapy_map_find() gave */
void stapy_map_clear(struct stapy_map *m);

/* Slices: keys with any[i] set match everything. */
bool stapy_map_has_slice(struct stapy_map *m, const union stapy_key *keys, const u8 *any);
void stapy_map_delete_slice(struct stapy_map *m, const union stapy_key *keys, const u8 *any);
const struct stapy_stat *stapy_map_stat_slice(struct stapy_map *m, const union stapy_key *keys, const u8 *any);

/*
 * Iteration. sort: 0 none, 1 by value, 2 + i by key i; op: what of a statistic
 * (enum stapy_stat_op); limit -1: all. Statistics are merged over the CPUs
 * first. The array may be read, not changed, in the loop. Sorting links the
 * elements anew, so a sorted loop needs the lock as a writer.
 */
struct stapy_iter {
	struct stapy_map *map;
	void *entry;			/* the current element */
	void *next;			/* sorted walk: the one after it */
	s64 left;
	bool sorted;
	int cpu;			/* unsorted walk over a statistic: whose table entry is in */
	const union stapy_key *keys;	/* slice, or NULL */
	const u8 *any;
};

void stapy_iter_start(struct stapy_iter *i, struct stapy_map *m, int sort, int op, bool descending, s64 limit,
		      const union stapy_key *keys, const u8 *any);
bool stapy_iter_next(struct stapy_iter *i);	/* false at the end; call before each element */
s64 stapy_iter_key_long(const struct stapy_iter *i, int key);
const char *stapy_iter_key_string(const struct stapy_iter *i, int key);
s64 stapy_iter_long(const struct stapy_iter *i);
const char *stapy_iter_string(const struct stapy_iter *i);
const struct stapy_stat *stapy_iter_stat(const struct stapy_iter *i);

int stapy_maps_alloc(void);
void stapy_maps_free(void);

#endif

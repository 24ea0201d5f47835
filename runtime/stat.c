// SPDX-License-Identifier: GPL-2.0-or-later
/* Statistics: adding on one CPU, merging over all, reading. */
#include "internal.h"

struct stapy_statvar {
	struct stapy_stat_shape *shape;
	struct stapy_stat * __percpu *parts;	/* by themselves: a histogram may be larger than per-CPU memory allows */
	struct stapy_stat *merged;
};

size_t stapy_stat_bytes(const struct stapy_stat_shape *shape)
{
	return sizeof(struct stapy_stat) + shape->buckets * sizeof(s64);
}

void stapy_stat_reset(struct stapy_stat *s, const struct stapy_stat_shape *shape)
{
	memset(s, 0, stapy_stat_bytes(shape));
}

static inline void add_128(struct stapy_stat *s, u64 low, u64 high)
{
	s->squares_low += low;
	s->squares_high += high + (s->squares_low < low);
}

/* Add x * y to the squares, by halves since not every machine multiplies to 128 bits. */
static inline void add_product(struct stapy_stat *s, u64 x, u64 y)
{
	u64 across = (x >> 32) * (u32)y, back = (y >> 32) * (u32)x;

	add_128(s, (u64)(u32)x * (u32)y, (x >> 32) * (y >> 32));
	add_128(s, across << 32, across >> 32);
	add_128(s, back << 32, back >> 32);
}

static inline u64 magnitude(s64 value)
{
	return value < 0 ? -(u64)value : value;
}

void stapy_stat_record(struct stapy_stat *s, const struct stapy_stat_shape *shape, s64 value)
{
	if (s->count++ == 0) {
		s->sum = value;
		s->min = value;
		s->max = value;
	} else {
		s->sum += value;
		if (value < s->min)
			s->min = value;
		if (value > s->max)
			s->max = value;
	}
	if (shape->variance)
		add_product(s, magnitude(value), magnitude(value));
	if (shape->histogram)
		s->histogram[stapy_stat_bucket_of(shape, value)]++;
}

void stapy_stat_merge(struct stapy_stat *to, const struct stapy_stat *from,
		      const struct stapy_stat_shape *shape)
{
	unsigned int i;

	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (!to->count || from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;
	if (shape->variance)
		add_128(to, from->squares_low, from->squares_high);
	for (i = 0; i < shape->buckets; i++)
		to->histogram[i] += from->histogram[i];
}

struct stapy_statvar *stapy_statvar_alloc(struct stapy_stat_shape *shape)
{
	struct stapy_statvar *v = kzalloc(sizeof(*v), GFP_KERNEL);
	size_t bytes = stapy_stat_bytes(shape);
	bool whole;
	int cpu;

	if (!v)
		return NULL;
	v->shape = shape;
	v->parts = alloc_percpu(struct stapy_stat *);
	v->merged = stapy_alloc(1, bytes);
	whole = v->parts && v->merged;
	for_each_possible_cpu(cpu) {
		if (!whole)
			break;
		*per_cpu_ptr(v->parts, cpu) = stapy_alloc_node(bytes, cpu_to_node(cpu));
		whole = *per_cpu_ptr(v->parts, cpu);
	}
	if (whole)
		return v;
	stapy_statvar_free(v);
	return NULL;
}

void stapy_statvar_free(struct stapy_statvar *v)
{
	int cpu;

	if (!v)
		return;
	for_each_possible_cpu(cpu)
		if (v->parts)
			kvfree(*per_cpu_ptr(v->parts, cpu));
	free_percpu(v->parts);
	kvfree(v->merged);
	kfree(v);
}

void stapy_stat_add(struct stapy_statvar *v, s64 value)
{
	stapy_stat_record(this_cpu_read(*v->parts), v->shape, value);
}

const struct stapy_stat *stapy_stat_read(struct stapy_statvar *v)
{
	int cpu;

	stapy_stat_reset(v->merged, v->shape);
	for_each_possible_cpu(cpu)
		stapy_stat_merge(v->merged, *per_cpu_ptr(v->parts, cpu), v->shape);
	return v->merged;
}

void stapy_stat_clear(struct stapy_statvar *v)
{
	int cpu;

	for_each_possible_cpu(cpu)
		stapy_stat_reset(*per_cpu_ptr(v->parts, cpu), v->shape);
}

/* (high, low) / divisor, cut to 64 bits: the kernel has no 128-bit division. */
static u64 divide_128(u64 high, u64 low, u64 divisor, bool *exact)
{
	u64 rest = high % divisor, quotient = 0;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (low >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= 1;
		}
	}
	if (exact)
		*exact = !rest;
	return quotient;
}

static void subtract(struct stapy_stat *s, u64 low, u64 high)
{
	s->squares_high -= high + (s->squares_low < low);
	s->squares_low -= low;
}

/*
 * Sample variance without rounding on the way. With sum = n * mean + rest,
 * the sum of (x - mean)^2 over integers is squares - n * mean^2 - 2 * mean * rest,
 * and the true one is less by rest^2 / n.
 */
static s64 variance_of(const struct stapy_stat *s)
{
	u64 n = s->count, sum = magnitude(s->sum), mean, rest, over;
	struct stapy_stat squares = *s, less = { 0 }, rounding = { 0 };
	bool exact;

	if (s->count < 2)
		return 0;
	mean = div64_u64(sum, n);
	rest = sum - mean * n;
	add_product(&less, mean, sum + rest);
	subtract(&squares, less.squares_low, less.squares_high);
	add_product(&rounding, rest, rest);
	over = divide_128(rounding.squares_high, rounding.squares_low, n, &exact);
	subtract(&squares, over + !exact, 0);
	return divide_128(squares.squares_high, squares.squares_low, n - 1, NULL);
}

bool stapy_stat_value(struct stapy_context *c, const struct stapy_stat *s, enum stapy_stat_op op,
		      int shift, s64 *result, const char *place)
{
	if (op == STAPY_COUNT || op == STAPY_SUM) {
		*result = !s ? 0 : op == STAPY_COUNT ? s->count : s->sum;
		return true;
	}
	if (!s || !s->count)
		return stapy_error(c, place, "empty aggregate");
	switch (op) {
	case STAPY_MIN:
		*result = s->min;
		break;
	case STAPY_MAX:
		*result = s->max;
		break;
	case STAPY_AVG:
		*result = div64_s64(s->sum, s->count);
		break;
	default:
		*result = variance_of(s);
		break;
	}
	return true;
}

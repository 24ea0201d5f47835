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

struct wide {
	u64 low, high;
};

static inline void add_128(u64 *to_low, u64 *to_high, u64 low, u64 high)
{
	*to_low += low;
	*to_high += high + (*to_low < low);
}

static inline void subtract_128(struct wide *from, u64 low, u64 high)
{
	from->high -= high + (from->low < low);
	from->low -= low;
}

/* By halves, since not every machine multiplies to 128 bits. */
static inline struct wide product(u64 x, u64 y)
{
	u64 across = (x >> 32) * (u32)y, back = (y >> 32) * (u32)x;
	struct wide result = { (u64)(u32)x * (u32)y, (x >> 32) * (y >> 32) };

	add_128(&result.low, &result.high, across << 32, across >> 32);
	add_128(&result.low, &result.high, back << 32, back >> 32);
	return result;
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
	if (shape->variance) {
		struct wide square = product(magnitude(value), magnitude(value));

		/* Negative values are numbers of 128 bits with ones above. */
		s->sum_high += (value >> 63) + ((u64)s->sum < (u64)value);
		add_128(&s->squares_low, &s->squares_high, square.low, square.high);
	}
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
	if (shape->variance) {
		to->sum_high += from->sum_high + ((u64)to->sum < (u64)from->sum);
		add_128(&to->squares_low, &to->squares_high, from->squares_low, from->squares_high);
	}
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

/* The kernel has no 128-bit division. The quotient is cut to 64 bits. */
static u64 divide_128(struct wide of, u64 divisor, u64 *rest)
{
	u64 left = of.high % divisor, quotient = 0;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		bool carry = left >> 63;

		left = left << 1 | (of.low >> bit & 1);
		quotient <<= 1;
		if (carry || left >= divisor) {
			left -= divisor;
			quotient |= 1;
		}
	}
	*rest = left;
	return quotient;
}

/*
 * Sample variance without rounding on the way. With |sum| = n * mean + rest, the sum of
 * (x - mean)^2 over integers is squares - mean * (|sum| + rest), and the true one is less by
 * rest^2 / n. Whatever the squares' sum lost beyond 128 bits, the difference is right as long as it
 * has no more than these: it is at most n / 4 * range^2. It is at least range^2 / 2, so that a
 * variance beyond an s64, which is the greatest s64, is told before.
 */
static s64 variance_of(const struct stapy_stat *s)
{
	struct wide deviations = { s->squares_low, s->squares_high }, sum = { s->sum, s->sum_high };
	struct wide range = product((u64)s->max - (u64)s->min, (u64)s->max - (u64)s->min), less;
	u64 n = s->count, mean, rest, over, left, variance;

	if (s->count < 2)
		return 0;
	if (range.high >= n)
		return S64_MAX;
	if ((s64)sum.high < 0) {
		sum = (struct wide){ 0 };
		subtract_128(&sum, s->sum, s->sum_high);
	}
	mean = divide_128(sum, n, &rest);
	add_128(&sum.low, &sum.high, rest, 0);
	less = product(mean, sum.low);
	less.high += mean * sum.high;
	subtract_128(&deviations, less.low, less.high);
	over = divide_128(product(rest, rest), n, &left);
	subtract_128(&deviations, over + !!left, 0);
	variance = divide_128(deviations, n - 1, &left);
	return deviations.high >= n - 1 ? S64_MAX : min_t(u64, variance, S64_MAX);
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

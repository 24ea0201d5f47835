/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics: `<<<` and what @count … @hist_log read. */
#ifndef STAPY_STAT_H
#define STAPY_STAT_H

#define STAPY_LOG_BUCKETS 128
#define STAPY_LOG_ZERO 64		/* number of the bucket of 0 */

enum stapy_stat_op {
	STAPY_COUNT, STAPY_SUM, STAPY_MIN, STAPY_MAX, STAPY_AVG, STAPY_VARIANCE
};

struct stapy_stat {
	s64 count, sum, min, max;
	/* When the shape wants the variance: the upper half of the sum, and the sum of squares. */
	u64 sum_high, squares_low, squares_high;
	s64 histogram[];			/* shape.buckets, with under- and overflow for linear */
};

/* A scalar statistic: one struct stapy_stat per CPU and one for the merged result. */
struct stapy_statvar;

void stapy_stat_add(struct stapy_statvar *v, s64 value);
const struct stapy_stat *stapy_stat_read(struct stapy_statvar *v);	/* merged; valid until the next call */
void stapy_stat_clear(struct stapy_statvar *v);

/* min, max, avg, variance of an empty statistic: false with SystemTap's "empty aggregate" error. s may be NULL. */
bool stapy_stat_value(struct stapy_context *c, const struct stapy_stat *s, enum stapy_stat_op op, int shift,
		      s64 *result, const char *place);

/* Histograms. The shape is the one that the storage row of the global has. */
bool stapy_out_histogram(struct stapy_context *c, struct stapy_out *o, const struct stapy_stat *s,
			 const struct stapy_stat_shape *shape, const char *place);
/*
 * Buckets by number, from 0; as in SystemTap that is what foreach gives and []
 * takes. A statistic without values, and a number outside of the histogram, are errors.
 */
bool stapy_stat_bucket(struct stapy_context *c, const struct stapy_stat *s,
		       const struct stapy_stat_shape *shape, s64 bucket, s64 *result,
		       const char *place);
/* The same for foreach, which goes over the buckets of nothing as well. */
s64 stapy_stat_bucket_count(const struct stapy_stat *s, int number);
bool stapy_stat_has_bucket(const struct stapy_stat_shape *shape, s64 bucket);
int stapy_stat_buckets(const struct stapy_stat_shape *shape);
/* What the loop variable of foreach is for the bucket: in SystemTap its number. */
s64 stapy_stat_bucket_low(const struct stapy_stat_shape *shape, int number);
/* Number of the bucket of a value. */
unsigned int stapy_stat_bucket_of(const struct stapy_stat_shape *shape, s64 value);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Histograms: buckets, and drawing them; bars of lists. */
#include "internal.h"

#define HIST_MAX_WIDTH 1000		/* a hit must end some time */
#define HIST_MARGIN 2			/* empty rows around the data */
#define HIST_TITLE 5			/* "value" */
#define HIST_COUNT 5			/* "count" */
#define HIST_SEPARATORS 3		/* " |" in front of a bar, " " behind it */
#define SHOWN_LEAST 20			/* what bars may be on a terminal: a narrow one folds lines */
#define SHOWN_MOST 200			/* and on a wide one the eye would lose the row */
#define BAR_COLUMN 72			/* where bars of lists begin at most: near what they belong to */
#define BAR_LEAST 10			/* characters that are worth it */
#define SHOWN_ROW (SHOWN_MOST + 100)	/* bytes of a row then, with numbers, colours and a gap */

static const char bar_color[] = "\033[36m";
static const char count_color[] = "\033[1m";
static const char no_color[] = "\033[m";

/* The consumer's, who knows whether there is a terminal. */
int stapy_columns;
module_param(stapy_columns, int, 0);
bool stapy_colors;
module_param(stapy_colors, bool, 0);

/* Linear: one for values below low, one for each step up to high, one for values above. */
void stapy_stat_shape_buckets(struct stapy_stat_shape *shape)
{
	u64 range, n;

	shape->buckets = 0;
	if (shape->histogram == STAPY_HIST_LOG) {
		shape->buckets = STAPY_LOG_BUCKETS;
	} else if (shape->histogram == STAPY_HIST_LINEAR) {
		if (shape->step < 1)
			shape->step = 1;
		range = shape->high > shape->low ? (u64)shape->high - (u64)shape->low : 0;
		n = div64_u64(range, shape->step) + 3;
		shape->buckets = min_t(u64, n, U16_MAX);
	}
}

unsigned int stapy_stat_bucket_of(const struct stapy_stat_shape *shape, s64 value)
{
	u64 n;

	if (shape->histogram == STAPY_HIST_LOG)
		return value >= 0 ? STAPY_LOG_ZERO + fls64(value) :
				    STAPY_LOG_ZERO - fls64(-(u64)value);
	if (value < shape->low)
		return 0;
	n = div64_u64((u64)value - (u64)shape->low, shape->step) + 1;
	return min_t(u64, n, shape->buckets - 1);
}

static s64 lower_bound(const struct stapy_stat_shape *shape, int number)
{
	if (shape->histogram == STAPY_HIST_LOG) {
		if (number > STAPY_LOG_ZERO)
			return 1ULL << (number - STAPY_LOG_ZERO - 1);
		if (number < STAPY_LOG_ZERO)
			return -(1ULL << (STAPY_LOG_ZERO - number - 1));
		return 0;
	}
	/* The rows of what is below and above show the bound that was passed. */
	if (number == 0)
		return shape->low;
	if (number == shape->buckets - 1)
		number--;
	return shape->low + (number - 1) * shape->step;
}

s64 stapy_stat_bucket_low(const struct stapy_stat_shape *shape, int number)
{
	return number;
}

int stapy_stat_buckets(const struct stapy_stat_shape *shape)
{
	return shape->buckets;
}

bool stapy_stat_has_bucket(const struct stapy_stat_shape *shape, s64 bucket)
{
	return bucket >= 0 && bucket < shape->buckets;
}

bool stapy_stat_bucket(struct stapy_context *c, const struct stapy_stat *s,
		       const struct stapy_stat_shape *shape, s64 bucket, s64 *result,
		       const char *place)
{
	if (!s || !s->count)
		return stapy_error(c, place, "empty aggregate");
	if (!stapy_stat_has_bucket(shape, bucket))
		return stapy_error(c, place, "histogram index out of range");
	*result = s->histogram[bucket];
	return true;
}

s64 stapy_stat_bucket_count(const struct stapy_stat *s, int number)
{
	return s ? s->histogram[number] : 0;
}

static int digits(s64 value)
{
	u64 v = value < 0 ? -(u64)value : value;
	int n = value < 0;

	do {
		n++;
		v = div64_u64(v, 10);
	} while (v);
	return n;
}

struct drawing {
	const struct stapy_stat *stat;
	const struct stapy_stat_shape *shape;
	int first, last;		/* rows */
	int value_width, count_width, bar_width;
	u64 scale;			/* values for one character of a bar */
	bool shown;			/* printed where a terminal may show it: strings and files have texts to compare */
};

/* The rows with data and up to two around them. */
static void choose_rows(struct drawing *d)
{
	const s64 *h = d->stat->histogram;
	int end = d->shape->buckets - 1, i;

	for (d->first = 0; d->first < end && !h[d->first]; d->first++)
		;
	for (d->last = end; d->last > d->first && !h[d->last]; d->last--)
		;
	for (i = 0; i < HIST_MARGIN; i++) {
		/* No negative rows for data that has none. */
		if (d->first > 0 &&
		    (d->shape->histogram == STAPY_HIST_LINEAR || d->first != STAPY_LOG_ZERO))
			d->first--;
		if (d->last < end)
			d->last++;
	}
	if (d->shape->histogram == STAPY_HIST_LINEAR) {
		if (d->first == 0 && !h[0])
			d->first++;
		if (d->last == end && !h[end])
			d->last--;
	}
}

/*
 * A row is left out when it and its neighbours are empty; never, when there are to be fewer than 0.
 * Rows are asked about one after the other, from d->first on with *next as that: the first one with
 * data that is not yet too far above, so that all are looked at once, however many neighbours count.
 */
static bool elided(const struct drawing *d, int row, int *next)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	int kept = min(limits->hist_given ? limits->hist_elision : HIST_ELISION, (int)d->shape->buckets);

	if (kept < 0)
		return false;
	while (*next <= d->last && (*next < row - kept || !d->stat->histogram[*next]))
		(*next)++;
	return *next > min(row + kept, d->last);
}

/*
 * Other programs read what goes to the files of -b, and records. Where so many bytes and what waits
 * for the reader are much, a picture is no wider than anywhere else, or there would be output that
 * is lost for its sake.
 */
static bool may_be_shown(struct stapy_context *c, const struct stapy_out *o, size_t bytes)
{
	return o == &c->out && !stapy_session.limits.bulk && !stapy_session.records &&
	       stapy_ring_is_roomy(c, bytes);
}

static size_t shown_bytes(const struct drawing *d)
{
	size_t bytes = SHOWN_ROW;
	int row, next = d->first;

	for (row = d->first; row <= d->last; row++)
		bytes += elided(d, row, &next) ? 0 : SHOWN_ROW;
	return bytes;
}

/* On a terminal a row and the title fill a line, unless -D says how long bars are. */
static int bar_width(const struct drawing *d)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	if (d->shown && stapy_columns > 0 && !limits->hist_width_given)
		return clamp(stapy_columns - d->value_width - HIST_SEPARATORS -
			     max(HIST_COUNT, d->count_width), SHOWN_LEAST, SHOWN_MOST);
	return clamp(limits->hist_given ? limits->hist_width : HIST_WIDTH, 1, HIST_MAX_WIDTH);
}

static void choose_widths(struct drawing *d)
{
	const struct stapy_stat_shape *shape = d->shape;
	bool linear = shape->histogram == STAPY_HIST_LINEAR;
	/* Of a linear one as SystemTap reckons it: from the bound, to the end of the last row. */
	s64 low = linear ? shape->low : lower_bound(shape, d->first);
	s64 high = linear ? (s64)(shape->low + (u64)shape->step * d->last) : lower_bound(shape, d->last);
	int under = linear && d->first == 0, over = linear && d->last == shape->buckets - 1;
	s64 most = 0;
	int i;

	for (i = d->first; i <= d->last; i++)
		most = max(most, d->stat->histogram[i]);
	d->count_width = digits(most);
	d->value_width = max(HIST_TITLE, max(digits(low) + under, digits(high) + over));
	d->bar_width = bar_width(d);
	d->scale = most <= d->bar_width ? 1 : div64_u64(most + d->bar_width - 1, d->bar_width);
}

static void color(struct stapy_out *o, const struct drawing *d, const char *text)
{
	if (d->shown && stapy_colors)
		stapy_out_text(o, text, strlen(text));
}

static void draw_bar(struct stapy_out *o, const struct drawing *d, int bar)
{
	if (bar)
		color(o, d, bar_color);
	stapy_out_pad(o, '@', bar);
	if (bar)
		color(o, d, no_color);
	stapy_out_pad(o, ' ', d->bar_width - bar + 1);
}

static void draw_count(struct stapy_out *o, const struct drawing *d, s64 count)
{
	if (count)
		color(o, d, count_color);
	stapy_out_long(o, count, 'd', 0, d->count_width, -1);
	if (count)
		color(o, d, no_color);
}

static void draw_row(struct stapy_out *o, const struct drawing *d, int row)
{
	s64 value = lower_bound(d->shape, row), count = d->stat->histogram[row];
	int bar = div64_u64(count, d->scale), width = d->value_width;

	if (d->shape->histogram == STAPY_HIST_LINEAR && (row == 0 || row == d->shape->buckets - 1)) {
		stapy_out_pad(o, ' ', width - digits(value) - 1);
		stapy_out_pad(o, row ? '>' : '<', 1);
		width = 0;
	}
	stapy_out_long(o, value, 'd', 0, width, -1);
	stapy_out_text(o, " |", 2);
	draw_bar(o, d, bar);
	draw_count(o, d, count);
	stapy_out_text(o, "\n", 1);
}

bool stapy_out_histogram(struct stapy_context *c, struct stapy_out *o, const struct stapy_stat *s,
			 const struct stapy_stat_shape *shape, const char *place)
{
	struct drawing d = { .stat = s, .shape = shape };
	bool gap = false;
	int row, next;

	if (!s || !s->count)
		return stapy_error(c, place, "empty aggregate");
	choose_rows(&d);
	next = d.first;
	d.shown = may_be_shown(c, o, shown_bytes(&d));
	choose_widths(&d);
	stapy_out_string(o, "value", 0, d.value_width, -1);
	stapy_out_text(o, " |", 2);
	stapy_out_pad(o, '-', d.bar_width);
	stapy_out_text(o, " count\n", 7);
	for (row = d.first; row <= d.last; row++) {
		if (elided(&d, row, &next)) {
			gap = true;
			continue;
		}
		if (gap) {
			stapy_out_pad(o, ' ', d.value_width + 1);
			stapy_out_text(o, "~\n", 2);
			gap = false;
		}
		draw_row(o, &d, row);
	}
	stapy_out_text(o, "\n", 1);
	return true;
}

/* Columns that a text fills, as far as it is before the end; the end when nobody can tell. */
static int columns_of(const char *text, const char *end, int most)
{
	int n = 0;

	for (; text < end && n < most; text++) {
		if ((u8)*text < ' ')
			return most;
		n += (*text & 0xc0) != 0x80;	/* not what continues a character of UTF-8 */
	}
	return n;
}

void stapy_out_bar(struct stapy_context *c, struct stapy_out *o, struct stapy_bar *b, s64 value)
{
	int column = min(stapy_columns * 3 / 5, BAR_COLUMN);
	int room = min(stapy_columns - column, SHOWN_MOST), filled, shift, length;

	if (!b->most)
		b->most = value;
	if (value <= 0 || value > b->most || room < BAR_LEAST || o->lost ||
	    !may_be_shown(c, o, column + SHOWN_ROW))
		return;
	filled = columns_of(b->line, o->at, column);
	if (filled >= column)
		return;
	shift = max(fls64(b->most) - 48, 0);	/* so that the product fits */
	length = div64_u64((u64)(value >> shift) * room, b->most >> shift);
	stapy_out_pad(o, ' ', column - filled);
	if (stapy_colors)
		stapy_out_text(o, bar_color, strlen(bar_color));
	stapy_out_pad(o, '@', max(length, 1));
	if (stapy_colors)
		stapy_out_text(o, no_color, strlen(no_color));
}

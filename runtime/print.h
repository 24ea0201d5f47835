/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output and formatting. Text is formatted straight into the ring of this CPU
 * (or a string): begin, pieces, end. Messages to the consumer go by the control
 * channel instead.
 */
#ifndef STAPY_PRINT_H
#define STAPY_PRINT_H

#define STAPY_F_LEFT	1		/* '-' */
#define STAPY_F_PLUS	2
#define STAPY_F_SPACE	4
#define STAPY_F_ZERO	8
#define STAPY_F_ALT	16		/* '#' */

/* Sink for one print: room in the ring of this CPU. Never NULL; what does not fit is counted as lost. */
struct stapy_out *stapy_print_begin(struct stapy_context *c);
void stapy_print_end(struct stapy_context *c);

/* Make room for more than a sink has, where that can be: in a flight recorder. Returns what there is. */
size_t stapy_print_room(struct stapy_out *o, size_t bytes);

static inline void stapy_out_to(struct stapy_out *o, char *buffer, size_t bytes)
{
	o->at = buffer;
	o->end = buffer + bytes - 1;	/* room for the NUL */
	o->lost = 0;
}

static inline void stapy_out_finish(struct stapy_out *o)
{
	*o->at = '\0';
}

#define STAPY_MAX_WIDTH (1 << 30)	/* more than any print may write; their sums are numbers, too */

/* A width or precision that a script reckoned; below 0: none. */
static __always_inline int stapy_width(s64 value)
{
	return clamp(value, (s64)-1, (s64)STAPY_MAX_WIDTH);
}

/* One character as often as that, never when it is below 0. */
void stapy_out_pad(struct stapy_out *o, char with, int n);
/* Text of any length. */
void stapy_out_piece(struct stapy_out *o, const char *text, size_t length);
/* %s, %d and %u without anything else. */
void stapy_out_plain(struct stapy_out *o, const char *s);
void stapy_out_decimal(struct stapy_out *o, s64 value);
void stapy_out_unsigned(struct stapy_out *o, u64 value);
/* The same with flags, width and precision. */
void stapy_out_field(struct stapy_out *o, const char *s, unsigned int flags, int width, int precision);
void stapy_out_number(struct stapy_out *o, s64 value, char conversion, unsigned int flags, int width,
		      int precision);

#define STAPY_SHORT_TEXT 16		/* up to here it is stored in place, not by a call */

static __always_inline void stapy_out_text(struct stapy_out *o, const char *text, size_t length)
{
	if (__builtin_constant_p(length) && length <= STAPY_SHORT_TEXT &&
	    likely((size_t)(o->end - o->at) >= length)) {
		__builtin_memcpy(o->at, text, length);
		o->at += length;
	} else {
		stapy_out_piece(o, text, length);
	}
}

/* width 0 and precision -1 mean none. */
static __always_inline void stapy_out_string(struct stapy_out *o, const char *s, unsigned int flags,
					     int width, int precision)
{
	bool plain = !width && precision < 0;

	if (__builtin_constant_p(plain) && plain)
		stapy_out_plain(o, s);
	else
		stapy_out_field(o, s, flags, width, precision);
}

/* conversion: d u o x X p (i is d) */
static __always_inline void stapy_out_long(struct stapy_out *o, s64 value, char conversion,
					   unsigned int flags, int width, int precision)
{
	bool plain = !flags && !width && precision < 0;

	if (__builtin_constant_p(plain) && plain && conversion == 'd')
		stapy_out_decimal(o, value);
	else if (__builtin_constant_p(plain) && plain && conversion == 'u')
		stapy_out_unsigned(o, value);
	else
		stapy_out_number(o, value, conversion, flags, width, precision);
}

void stapy_out_char(struct stapy_out *o, s64 value, unsigned int flags, int width);
/*
 * %b: 1, 2, 4 or 8 bytes of value in memory order, as many as the precision says, else the
 * width, else 8; width pads with NULs.
 */
void stapy_out_binary(struct stapy_out *o, s64 value, unsigned int flags, int width, int precision);
/* %m (hex false) and %M (hex true); STAPY_F_ALT reads user memory. length < 0: 1. False with the error set on a fault. */
bool stapy_out_memory(struct stapy_context *c, struct stapy_out *o, unsigned long address, bool hex,
		      unsigned int flags, int width, int length, const char *place);

/* The bars of a list that begins with its greatest number: where the line begins, and that number. */
struct stapy_bar {
	const char *line;
	s64 most;
};

/* Behind a line that is still open; nothing but on a terminal, and where that has no room for it. */
void stapy_out_bar(struct stapy_context *c, struct stapy_out *o, struct stapy_bar *b, s64 value);

/* Prints whose fields are told as well (typed.c): fields first, text behind them. Ends as any print does. */
struct stapy_out *stapy_typed_begin(struct stapy_context *c, u32 number);
void stapy_typed_long(struct stapy_out *o, s64 value);
void stapy_typed_string(struct stapy_out *o, const char *s);
/* As stapy_out_memory(). */
bool stapy_typed_memory(struct stapy_context *c, struct stapy_out *o, unsigned long address, unsigned int flags,
			int length, const char *place);
struct stapy_stat;
struct stapy_stat_shape;
/* Its numbers, and its buckets that are not empty. */
void stapy_typed_stat(struct stapy_out *o, const struct stapy_stat *s, const struct stapy_stat_shape *shape);

/* Messages to the consumer; usable from any context. */
void __printf(1, 2) stapy_warn(const char *fmt, ...);
void __printf(2, 3) stapy_control(const char *type, const char *fmt, ...);
/* exit(): no handler runs any more, the consumer is asked to stop the session. */
void stapy_exit(void);

#endif

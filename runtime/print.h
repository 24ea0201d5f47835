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

/* width 0 and precision -1 mean none. */
void stapy_out_text(struct stapy_out *o, const char *text, size_t length);
void stapy_out_string(struct stapy_out *o, const char *s, unsigned int flags, int width, int precision);
/* conversion: d u o x X p (i is d) */
void stapy_out_long(struct stapy_out *o, s64 value, char conversion, unsigned int flags, int width, int precision);
void stapy_out_char(struct stapy_out *o, s64 value, unsigned int flags, int width);
/*
 * %b: 1, 2, 4 or 8 bytes of value in memory order, as many as the precision says, else the
 * width, else 8; width pads with NULs.
 */
void stapy_out_binary(struct stapy_out *o, s64 value, unsigned int flags, int width, int precision);
/* %m (hex false) and %M (hex true); STAPY_F_ALT reads user memory. length < 0: 1. False with the error set on a fault. */
bool stapy_out_memory(struct stapy_context *c, struct stapy_out *o, unsigned long address, bool hex,
		      unsigned int flags, int width, int length, const char *place);

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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What generated C calls: division, recursion, places of errors; random numbers. */
#ifndef STAPY_ARITH_H
#define STAPY_ARITH_H

/* For arming conditions as well: nobody is told of their errors. */
static inline bool stapy_try_divide(s64 a, s64 b, s64 *result)
{
	if (unlikely(!b))
		return false;
	/* S64_MIN / -1 traps on some processors: negate as unsigned, which wraps. */
	*result = b == -1 ? (s64)(0 - (u64)a) : a / b;
	return true;
}

static inline bool stapy_try_modulo(s64 a, s64 b, s64 *result)
{
	if (unlikely(!b))
		return false;
	*result = b == -1 ? 0 : a % b;
	return true;
}

static inline bool stapy_divide(struct stapy_context *c, s64 a, s64 b, s64 *result, const char *place)
{
	return stapy_try_divide(a, b, result) || stapy_error(c, place, "division by 0");
}

static inline bool stapy_modulo(struct stapy_context *c, s64 a, s64 b, s64 *result, const char *place)
{
	return stapy_try_modulo(a, b, result) || stapy_error(c, place, "division by 0");
}

/*
 * splitmix64: a counter that is scrambled. The kernel's random numbers take locks,
 * which no handler may. CPUs that race for a state only make it less predictable.
 */
static inline u64 stapy_random(u64 *state)
{
	u64 x = READ_ONCE(*state);

	if (!x)
		x = get_cycles() | 1;
	x += 0x9e3779b97f4a7c15ULL;
	WRITE_ONCE(*state, x);
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline bool stapy_unsigned_divide(struct stapy_context *c, u64 a, u64 b, s64 *result,
					 const char *place)
{
	*result = likely(b) ? a / b : 0;
	return likely(b) || stapy_error(c, place, "division by 0");
}

static inline bool stapy_unsigned_modulo(struct stapy_context *c, u64 a, u64 b, s64 *result,
					 const char *place)
{
	*result = likely(b) ? a % b : 0;
	return likely(b) || stapy_error(c, place, "division by 0");
}

/*
 * Enter a function that may call itself; false with the error set when that went
 * too deep. Script functions are C functions, so the kernel's stack is watched too:
 * MAXNESTING may be set to anything.
 */
#define STAPY_STACK_RESERVE 3072
#define STAPY_SMALL_STACK_ROOM 2048	/* of the 8 KiB that an exception of its own stack has */

/* For c->stack_floor in the handler of such an exception. */
static inline unsigned long stapy_small_stack_floor(void)
{
	return current_stack_pointer - STAPY_SMALL_STACK_ROOM;
}

static inline bool stapy_nest(struct stapy_context *c, const char *place)
{
	unsigned long at = current_stack_pointer;
	unsigned long left = at - (unsigned long)task_stack_page(current);

	/* On the stack of an interrupt or exception "left" is a huge number. */
	if (likely(c->nesting-- > 0 && left >= STAPY_STACK_RESERVE && at >= c->stack_floor))
		return true;
	return stapy_error(c, place, "MAXNESTING exceeded");
}

/* Embedded C reports errors without a place: its caller adds the function's. */
static inline void stapy_error_at(struct stapy_context *c, const char *place)
{
	size_t used;

	if (c->error != c->error_text || !place)
		return;
	used = strnlen(c->error_text, sizeof(c->error_text));
	if (used && used < sizeof(c->error_text) && !strstr(c->error_text, " near "))
		scnprintf(c->error_text + used, sizeof(c->error_text) - used,
			  c->error_text[used - 1] == ' ' ? "%s" : " %s", place);
}

#endif

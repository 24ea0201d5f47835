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
 * What script functions, and helpers that they call, leave of a stack to interrupts and
 * exceptions: those that come on an interrupt's own stack stay on it.
 */
#define STAPY_TASK_RESERVE (THREAD_SIZE / 4)
#define STAPY_OTHER_RESERVE(bytes) ((bytes) / 8 * 3)

/* stapy_nest() where it is not plain that all is well. */
bool stapy_nest_far(struct stapy_context *c, const char *place);

/*
 * Enter a function that may call itself; false with the error set when that went
 * too deep. Script functions are C functions, so the stack in use is watched, too:
 * MAXNESTING may be set to anything.
 */
static inline bool stapy_nest(struct stapy_context *c, const char *place)
{
	unsigned long left = current_stack_pointer - (unsigned long)task_stack_page(current);

	if (likely(c->nesting-- > 0 && left - STAPY_TASK_RESERVE < THREAD_SIZE - STAPY_TASK_RESERVE))
		return true;
	return stapy_nest_far(c, place);
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* SystemTap's names for what C in scripts prints and says. */
#include "internal.h"
#include "transport/control.h"

/* Text of one message; longer ones are cut. */
#define MESSAGE_BYTES 256

struct stapy_context *stapy_current(void)
{
	struct stapy_context *c;

	if (!stapy_cpus)
		return NULL;
	/* Handlers cannot be preempted: when one is under way on our CPU, it is the one that calls. */
	preempt_disable_notrace();
	c = &this_cpu_ptr(stapy_cpus)->c;
	if (!c->busy)
		c = NULL;
	preempt_enable_notrace();
	return c;
}

unsigned int _stp_random_u(unsigned int n)
{
	static u64 state;

	return n ? (u32)stapy_random(&state) % n : 0;
}

/* A line break at the end is the consumer's business. */
static void say(const char *type, const char *before, const char *fmt, va_list args)
{
	char text[MESSAGE_BYTES];
	size_t n = scnprintf(text, sizeof(text), "%s", before);

	n += vscnprintf(text + n, sizeof(text) - n, fmt, args);
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	stapy_control(type, "%s", text);
}

#define SAY(type, before)			\
	do {					\
		va_list args;			\
						\
		va_start(args, fmt);		\
		say(type, before, fmt, args);	\
		va_end(args);			\
	} while (0)

void _stp_printf(const char *fmt, ...)
{
	struct stapy_context *c = stapy_current();
	va_list args;

	if (!c) {
		SAY("log", "");
		return;
	}
	va_start(args, fmt);
	stapy_vprintf(c, fmt, args);
	va_end(args);
}

void _stp_print(const char *text)
{
	_stp_printf("%s", text);
}

void _stp_warn(const char *fmt, ...)
{
	SAY("warning", "");
}

void _stp_error(const char *fmt, ...)
{
	SAY("error", "");
	stapy_exit();
}

void _stp_log(const char *fmt, ...)
{
	SAY("log", "");
}

void _stp_dbug(const char *function, int line, const char *fmt, ...)
{
	char before[64];

	scnprintf(before, sizeof(before), "%s:%d: ", function, line);
	SAY("log", before);
}

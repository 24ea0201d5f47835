// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages to the consumer. Writers of any context claim the slot at the tail
 * when it is free; the one reader takes slots in order. Nobody waits: what
 * finds no free slot is counted.
 */
#include "../internal.h"
#include "control.h"

#define SLOTS 256			/* a power of two */
#define CLAIM_TRIES 1000
#define TYPE_BYTES 16

enum { SLOT_FREE, SLOT_READY };

struct slot {
	int state;
	char type[TYPE_BYTES];
	char text[];
};

static char *slots;
static size_t slot_bytes;
static size_t text_bytes;
static atomic_t tail = ATOMIC_INIT(0);
static unsigned int head;
static atomic_t lost = ATOMIC_INIT(0);

static struct slot *slot_at(unsigned int number)
{
	return (struct slot *)(slots + (number & (SLOTS - 1)) * slot_bytes);
}

int stapy_control_alloc(void)
{
	text_bytes = max(stapy_session.limits.maxstringlen, STAPY_ERROR_BYTES) + 128;
	slot_bytes = ALIGN(sizeof(struct slot) + text_bytes, 8);
	slots = vzalloc(SLOTS * slot_bytes);
	return slots ? 0 : -ENOMEM;
}

void stapy_control_free(void)
{
	vfree(slots);
	slots = NULL;
}

unsigned int stapy_control_lost(void)
{
	return atomic_xchg(&lost, 0);
}

/* A free slot that only the caller knows, or NULL. */
static struct slot *claim(void)
{
	int tries;

	for (tries = 0; tries < CLAIM_TRIES; tries++) {
		int number = atomic_read(&tail);
		struct slot *s = slot_at(number);

		/* The tail is a whole round ahead of a slot that is not free yet. */
		if (smp_load_acquire(&s->state) != SLOT_FREE ||
		    (unsigned int)number - READ_ONCE(head) >= SLOTS)
			break;
		if (atomic_cmpxchg(&tail, number, number + 1) == number)
			return s;
	}
	atomic_inc(&lost);
	return NULL;
}

static void __printf(2, 0) send(const char *type, const char *fmt, va_list args)
{
	struct slot *s = claim();

	if (!s)
		return;
	strscpy(s->type, type, sizeof(s->type));
	vscnprintf(s->text, text_bytes, fmt, args);
	smp_store_release(&s->state, SLOT_READY);
}

void stapy_control(const char *type, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	send(type, fmt, args);
	va_end(args);
}

void stapy_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	send("warning", fmt, args);
	va_end(args);
}

bool stapy_control_pending(void)
{
	return smp_load_acquire(&slot_at(READ_ONCE(head))->state) == SLOT_READY;
}

size_t stapy_control_line(void)
{
	/* every character escaped, type, blank, end of line */
	return 2 * text_bytes + TYPE_BYTES + 2;
}

size_t stapy_control_take(char *to)
{
	struct slot *s = slot_at(head);
	size_t n;
	char *p;

	if (smp_load_acquire(&s->state) != SLOT_READY)
		return 0;
	n = strscpy(to, s->type, TYPE_BYTES);
	if (s->text[0])
		to[n++] = ' ';
	for (p = s->text; *p; p++) {
		if (*p == '\n' || *p == '\\')
			to[n++] = '\\';
		to[n++] = *p == '\n' ? 'n' : *p;
	}
	to[n++] = '\n';
	smp_store_release(&s->state, SLOT_FREE);
	WRITE_ONCE(head, head + 1);
	return n;
}

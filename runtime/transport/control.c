// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages to the consumer. Writers of any context claim the slot at the tail
 * when it is free; the one reader takes slots in order. Nobody waits: what
 * finds no free slot is counted.
 *
 * What happens once in a session and must not be lost takes no slot: it is a
 * state with the place among the messages where it belongs.
 */
#include "../internal.h"
#include "control.h"

#define MOST_SLOTS 512			/* powers of two */
#define LEAST_SLOTS 64
#define MOST_BYTES SZ_4M		/* of all slots, as long as there are more than the least */
#define CLAIM_TRIES 1000
#define TYPE_BYTES 16
#define MOST_TEXT SZ_64K		/* of one message; a string of a script is shorter */

enum { SLOT_FREE, SLOT_READY };

struct slot {
	int state;
	char type[TYPE_BYTES];
	char text[];
};

static struct {
	const char *type;
	bool posted, taken;
	int value;
	unsigned int at;		/* behind the messages before this one */
} events[STAPY_CONTROL_EVENTS] = {
	[STAPY_CONTROL_STARTED] = { .type = "started" },
	[STAPY_CONTROL_EXIT] = { .type = "exit" },
	[STAPY_CONTROL_STOPPED] = { .type = "stopped" },
};

static char *slots;
static unsigned int nr_slots;
static size_t slot_bytes;
static size_t text_bytes;
static atomic_t tail = ATOMIC_INIT(0);
static unsigned int head;
static atomic_t lost = ATOMIC_INIT(0);
static atomic_t errors = ATOMIC_INIT(0);	/* messages of that type, lost ones included */
static bool reporting;

static struct slot *slot_at(unsigned int number)
{
	return (struct slot *)(slots + (number & (nr_slots - 1)) * slot_bytes);
}

int stapy_control_alloc(void)
{
	size_t string = max(stapy_session.limits.maxstringlen, STAPY_ERROR_BYTES);

	text_bytes = min_t(size_t, string, MOST_TEXT) + STAPY_TRAIL_BYTES + 512;
	slot_bytes = ALIGN(sizeof(struct slot) + text_bytes, 8);
	for (nr_slots = MOST_SLOTS; nr_slots > LEAST_SLOTS; nr_slots /= 2)
		if (nr_slots * slot_bytes <= MOST_BYTES)
			break;
	slots = stapy_alloc(nr_slots, slot_bytes);
	return slots ? 0 : -ENOMEM;
}

void stapy_control_free(void)
{
	kvfree(slots);
	slots = NULL;
}

unsigned int stapy_control_lost(void)
{
	return atomic_xchg(&lost, 0);
}

/*
 * How many slots a message may leave used. Half of them are for what handlers say; a
 * quarter more is for errors and orders, and the report at the end finds the last ones.
 */
static unsigned int share_of(bool important)
{
	return READ_ONCE(reporting) ? nr_slots : important ? nr_slots / 4 * 3 : nr_slots / 2;
}

/* A free slot that only the caller knows, or NULL. */
static struct slot *claim(unsigned int share)
{
	int tries;

	for (tries = 0; tries < CLAIM_TRIES; tries++) {
		int number = atomic_read(&tail);
		struct slot *s = slot_at(number);

		/* The tail is a whole round ahead of a slot that is not free yet. */
		if (smp_load_acquire(&s->state) != SLOT_FREE ||
		    (unsigned int)number - READ_ONCE(head) >= share)
			break;
		if (atomic_cmpxchg(&tail, number, number + 1) == number)
			return s;
	}
	atomic_inc(&lost);
	return NULL;
}

static void __printf(3, 0) send(const char *type, bool important, const char *fmt, va_list args)
{
	struct slot *s = claim(share_of(important));

	if (!s)
		return;
	strscpy(s->type, type, sizeof(s->type));
	vscnprintf(s->text, text_bytes, fmt, args);
	smp_store_release(&s->state, SLOT_READY);
}

void stapy_control(const char *type, const char *fmt, ...)
{
	va_list args;

	if (!strcmp(type, "error"))
		atomic_inc(&errors);
	va_start(args, fmt);
	send(type, strcmp(type, "warning") && strcmp(type, "log"), fmt, args);
	va_end(args);
}

void stapy_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	send("warning", false, fmt, args);
	va_end(args);
}

void stapy_control_event(enum stapy_control_event event, int value)
{
	events[event].value = value;
	events[event].at = atomic_read(&tail);
	smp_store_release(&events[event].posted, true);
}

int stapy_control_errors(void)
{
	return atomic_read(&errors);
}

void stapy_control_reporting(bool now)
{
	WRITE_ONCE(reporting, now);
}

/* The event whose turn it is, or -1. */
static int due(void)
{
	int i;

	for (i = 0; i < STAPY_CONTROL_EVENTS; i++)
		if (smp_load_acquire(&events[i].posted) && !READ_ONCE(events[i].taken) &&
		    (int)(READ_ONCE(head) - events[i].at) >= 0)
			return i;
	return -1;
}

bool stapy_control_pending(void)
{
	return smp_load_acquire(&slot_at(READ_ONCE(head))->state) == SLOT_READY || due() >= 0;
}

size_t stapy_control_line(void)
{
	/* every character escaped, type, blank, end of line; an event's number is shorter */
	return 2 * text_bytes + TYPE_BYTES + 2;
}

size_t stapy_control_take(char *to)
{
	struct slot *s = slot_at(head);
	int event = due();
	size_t n;
	char *p;

	if (event >= 0) {
		WRITE_ONCE(events[event].taken, true);
		return sprintf(to, "%s %d\n", events[event].type, events[event].value);
	}
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

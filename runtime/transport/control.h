/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the consumer: a fixed queue that any context may write to, and what is not lost. */
#ifndef STAPY_CONTROL_H
#define STAPY_CONTROL_H

/* Each happens once in a session at most, and is told whatever the queue looks like. */
enum stapy_control_event {
	STAPY_CONTROL_STARTED,		/* with 0 or a negative errno */
	STAPY_CONTROL_EXIT,
	STAPY_CONTROL_STOPPED,		/* with the number of errors that were told, or could not be */
	STAPY_CONTROL_EVENTS
};

/* Behind the messages before it; usable from any context. */
void stapy_control_event(enum stapy_control_event event, int value);
/* How many errors there were for the consumer. */
int stapy_control_errors(void);
/* From now on messages are those of the report, which has slots of its own. */
void stapy_control_reporting(bool now);

int stapy_control_alloc(void);
void stapy_control_free(void);
bool stapy_control_pending(void);
/* Oldest message as one escaped line; its length, 0 when there is none. to: stapy_control_line() bytes. */
size_t stapy_control_take(char *to);
size_t stapy_control_line(void);
unsigned int stapy_control_lost(void);

#endif

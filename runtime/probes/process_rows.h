/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of process.*: whose processes each means, and which of them an event is a hit of. */
#ifndef STAPY_PROCESS_ROWS_H
#define STAPY_PROCESS_ROWS_H

extern u32 stapy_process_watched[STAPY_PROCESS_EVENTS];	/* scopes that rows of an event have */

/* Find the scopes of all rows; one that has none is told of. 0 or -ENOMEM. May sleep. */
int stapy_process_rows_start(struct stapy_process_row *rows, unsigned int count);
/*
 * The members, by thread group, of the one scope that all rows of an event mean; NULL where they
 * mean several, a pattern or all processes. From stapy_targets_start() to stapy_targets_stop().
 */
const unsigned long *stapy_process_members(enum stapy_process_event event);
/* The one row of an event, where one is all that has to be looked at; else NULL. */
struct stapy_process_row *stapy_process_only(enum stapy_process_event event);
/* A hit, in the current process, of each row of an event that means one of these scopes. */
void stapy_process_fire(enum stapy_process_event event, u32 scopes, const unsigned long *args);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the consumer: a fixed queue that any context may write to. */
#ifndef STAPY_CONTROL_H
#define STAPY_CONTROL_H

int stapy_control_alloc(void);
void stapy_control_free(void);
bool stapy_control_pending(void);
/* Oldest message as one escaped line; its length, 0 when there is none. to: stapy_control_line() bytes. */
size_t stapy_control_take(char *to);
size_t stapy_control_line(void);
unsigned int stapy_control_lost(void);

#endif

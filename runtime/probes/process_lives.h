/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Begins and ends of processes and threads, for the rows of process.c. */
#ifndef STAPY_PROCESS_LIVES_H
#define STAPY_PROCESS_LIVES_H

#include "process_rows.h"

/* Follow processes for what is watched; what has not begun may be ended. These may sleep. */
int stapy_process_lives_start(void);
void stapy_process_lives_stop(void);
/* Processes and threads that were there before: those asleep are woken for their begin probes. */
void stapy_process_lives_run(void);
/* When the module goes: an errand may be under way until then. */
void stapy_process_lives_free(void);
/* Begins that nobody could be asked to tell. */
u64 stapy_process_lives_missed(void);

void stapy_process_tell_untold(void);

/* The begin of the current process, or thread: before all else that is told of it. */
static __always_inline void stapy_process_tell_begins(void)
{
	if (unlikely(stapy_process_watched[STAPY_PROCESS_BEGIN] | stapy_process_watched[STAPY_THREAD_BEGIN]))
		stapy_process_tell_untold();
}

#endif

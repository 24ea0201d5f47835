/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.data, perf.*.process: events that follow the threads of processes. */
#ifndef STAPY_TASKEVENT_H
#define STAPY_TASKEVENT_H

struct stapy_user_file;

struct stapy_taskevent_row {
	struct stapy_site site;
	const char *file;		/* of the program, or NULL */
	int pid;			/* of the process, or 0: with neither, those of the target */
	bool optional;
	/* Watched memory: */
	u8 length;			/* bytes: 1, 2, 4, 8; 0: none, but what follows is counted */
	bool reads;			/* hit by reads as well as by writes */
	bool linked;			/* the address is one of linking: */
	unsigned long address;
	unsigned long code;		/* where the program's code begins by that; 0: it is not moved */
	/* Counted: */
	u32 type;
	u64 config;
	u64 period;			/* events for a hit; 0: hz */
	u64 hz;
	u32 counter;			/* of @perf, which is all that asks for it; 0: it is hit */
	/* run-time state below */
	int scope;			/* negative: it cannot be probed */
	const struct stapy_user_file *held;
	bool told;			/* of the first that went wrong */
};

extern const struct stapy_family stapy_taskevent;
/* What this thread has counted for the counter of a number; 0 for one that is not meant. */
s64 stapy_task_counter(u32 number);

#endif

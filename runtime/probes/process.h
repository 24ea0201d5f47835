/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.*: the lives of processes and threads, and their system calls. */
#ifndef STAPY_PROCESS_H
#define STAPY_PROCESS_H

enum stapy_process_event {
	STAPY_PROCESS_BEGIN,
	STAPY_PROCESS_END,
	STAPY_THREAD_BEGIN,
	STAPY_THREAD_END,
	STAPY_PROCESS_SYSCALL,
	STAPY_PROCESS_SYSCALL_RETURN,
	STAPY_PROCESS_EVENTS
};

struct stapy_process_row {
	struct stapy_site site;
	enum stapy_process_event event;
	const char *file;		/* of the program, or NULL */
	int pid;			/* of the process, or 0 */
	/* One of the files that a pattern matched, by its number among them, from 1 on; else NULL. */
	const char *pattern;
	unsigned int program;
	unsigned int programs;
	bool optional;
	bool reads_args;		/* the handler may look at the call's number and arguments */
	/* run-time state below */
	int scope;			/* negative: it cannot be probed */
	unsigned int run;		/* rows from here on that are one pattern's, for one event */
};

extern const struct stapy_family stapy_process;

#endif

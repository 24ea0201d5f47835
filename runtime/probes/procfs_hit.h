/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hits of files of a script's, in the process that reads or writes. May sleep. */
#ifndef STAPY_PROCFS_HIT_H
#define STAPY_PROCFS_HIT_H

/* What a handler sees as $value. */
struct stapy_procfs_value {
	char *at;
	size_t bytes;			/* with the NUL */
	size_t length;
	size_t lost;			/* bytes that did not fit */
	struct stapy_monitor_look look;		/* of a monitor */
};

/*
 * One hit, or as many as a look takes: interrupts are on in between, and others have the processor.
 * -EAGAIN when it had to be skipped, -EIO when it failed, -ENODEV when the session is over.
 */
int stapy_procfs_run(struct stapy_procfs_row *row, struct stapy_procfs_value *value);

#endif

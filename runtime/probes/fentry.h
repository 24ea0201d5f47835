/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of functions by ftrace: a third of what a kprobe there costs. */
#ifndef STAPY_FENTRY_H
#define STAPY_FENTRY_H

/*
 * Arm the rows that have `fentry` set, at kp.addr. All or none: on an error the
 * caller arms them as kprobes.
 */
int stapy_fentry_start(struct stapy_kprobe_row *rows, unsigned int count);
void stapy_fentry_stop(void);

#endif

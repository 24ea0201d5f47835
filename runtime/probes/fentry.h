/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of functions by ftrace: all of them in one registration. */
#ifndef STAPY_FENTRY_H
#define STAPY_FENTRY_H

#include "kprobe.h"

/* What the runtime knows of one row while a session lives. */
struct stapy_kprobe {
	const struct stapy_kprobe_row *row;
	struct stapy_kprobe *same;	/* next one at the same place */
	struct stapy_kprobe *first;	/* the one whose kprobe serves all of a place; by ftrace itself */
	unsigned long missed;		/* hits missed before the module went away */
	int error;			/* of the first registration */
	bool armed;			/* hit by kprobe or by ftrace */
	bool registered;		/* the kernel has the kprobe, enabled or not */
	bool fentry;			/* hit through ftrace; the kprobe stays disabled */
	union {
		struct kprobe kp;	/* also the first member of rp */
		struct kretprobe rp;
	};
};

/* ftrace does not tell about modules that come and go. */
static inline bool stapy_may_be_fentry(const struct stapy_kprobe_row *row)
{
	if (row->is_return)
		return STAPY_FTRACE_RETURNS && !row->module;
	return !row->offset && !row->module && !row->callers;
}

/*
 * Arm the probes that have `fentry` set, at kp.addr. All or none: on an error the
 * caller arms them as kprobes.
 */
int stapy_fentry_start(struct stapy_kprobe *probes, unsigned int count);
void stapy_fentry_stop(void);

/* Set `first` and `same` of those that are no entries for ftrace: one kprobe for a place. */
int stapy_share_places(struct stapy_kprobe *probes, unsigned int count);

#endif

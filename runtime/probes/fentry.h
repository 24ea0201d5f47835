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

/* Callbacks of kprobes and kretprobes. */
int stapy_on_entry(struct kprobe *kp, struct pt_regs *regs);
/* Entry side of a return probe: saves values; nonzero gives the return up. */
int stapy_on_call(struct kretprobe_instance *ri, struct pt_regs *regs);
int stapy_on_return(struct kretprobe_instance *ri, struct pt_regs *regs);

static inline struct kprobe *stapy_kprobe_of(struct stapy_kprobe *probe)
{
	return probe->row->is_return ? &probe->rp.kp : &probe->first->kp;
}

/*
 * Arm the probes that have `fentry` set and are wanted, at kp.addr. All or none: on an
 * error the caller arms them as kprobes.
 */
int stapy_fentry_start(struct stapy_kprobe *probes, unsigned int count);
/* Other probes may be wanted now. After an error none is armed. */
int stapy_fentry_rearm(void);
void stapy_fentry_stop(void);

/* Set `first` and `same` of those that are no entries for ftrace: one kprobe for a place. */
int stapy_share_places(struct stapy_kprobe *probes, unsigned int count);
/* Is one of the probes wanted that share a place, from this one on? */
bool stapy_place_wanted(const struct stapy_kprobe *probe);
/* Enable or disable the registered kprobe of a place, as it is wanted. */
int stapy_place_rearm(struct stapy_kprobe *probe);

#endif

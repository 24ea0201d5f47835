/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small interface that every probe family implements, and their row types. */
#ifndef STAPY_FAMILIES_H
#define STAPY_FAMILIES_H

struct stapy_family {
	const char *name;
	bool phases;			/* runs begin and end probes: started before the others, stopped after them */
	bool early;			/* is there before begin probes run: what comes to it waits for the session */
	/*
	 * Arm all rows; a negative errno (after undoing what was armed) ends the session. What
	 * takes long asks stapy_interrupted() now and then and gives up with -EINTR: then the
	 * session ends as by exit().
	 */
	int (*start)(void *rows, unsigned int count);
	/* Disarm and wait until no handler runs any more. */
	void (*stop)(void *rows, unsigned int count);
	/* Add up hits that the kernel missed, for the report; may be NULL. */
	u64 (*missed)(void *rows, unsigned int count);
	/*
	 * Arm and disarm rows so that those are armed whose stapy_wanted() says so; in process
	 * context, between start and stop. NULL: all stay armed, and a hit tests the condition.
	 */
	void (*rearm)(void *rows, unsigned int count);
	/*
	 * CPUs have come, or come back: arm there what is armed for each CPU by itself. False when
	 * one is still on its way. In process context with no lock held, also before start and
	 * after stop. NULL: nothing is.
	 */
	bool (*complete)(void *rows, unsigned int count);
	/* All families have started and the session runs; in the consumer's hands. May be NULL. */
	void (*run)(void *rows, unsigned int count);
	/*
	 * The consumer has opened a file that points name, of this family or another; before start.
	 * What is held of it is let go by stop, or by release when the session never began. NULL:
	 * no point names files.
	 */
	int (*file)(void *rows, unsigned int count, int fd, const char *name);
	void (*release)(void *rows, unsigned int count);
	/*
	 * The consumer's command "object", whole, while the module is loaded; begin probes may be
	 * running. NULL: for others.
	 */
	int (*object)(void *rows, unsigned int count, const char __user *from, size_t bytes);
	/* What a message "object NUMBER" asks the consumer for, as a descriptor of the caller's. */
	int (*fetch)(unsigned int number);
	/* Nobody has control open any more; perhaps somebody will. */
	void (*left)(void);
};

#include "begin_end.h"
#include "timer.h"
#include "kprobe.h"
#include "entries.h"
#include "tracepoint.h"
#include "watchpoint.h"
#include "perf.h"
#include "netfilter.h"
#include "bpf.h"
#include "process.h"
#include "uprobe.h"
#include "taskevent.h"
#include "procfs.h"
#include "modsyms.h"
#include "../user/mapped.h"
#include "arming.h"

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families whose rows are counters of perf: one event on every CPU for each row. */
#ifndef STAPY_EVENT_H
#define STAPY_EVENT_H

#include "../hit.h"
#include "../compat/linux/perf_event.h"

/* The handler of all events that are hits; its context is the site. */
void stapy_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs);
/* What an event has counted, of this CPU or of the task that runs here. Any context. */
s64 stapy_event_count(struct perf_event *event);

/* What one family knows of its rows. Each begins with its site. */
struct stapy_event_rows {
	size_t bytes;			/* of a row */
	size_t events;			/* where its events are */
	/* Before it is armed: a negative errno keeps it off. NULL: nothing to look for. */
	int (*locate)(void *row);
	struct perf_event_attr (*describe)(const void *row);
	/* What to say behind an error of locate() or of the kernel. */
	const char *(*reason)(int error);
};

/*
 * Make the events of all rows in the state that their probes want; one that cannot be had is a
 * warning. Process context, with no lock held: the kernel takes those of CPU hotplug meanwhile.
 */
int stapy_event_rows_start(const struct stapy_event_rows *rows, void *table, unsigned int count);
/* Enable or disable them when the condition of their probes has changed. */
void stapy_event_rows_rearm(const struct stapy_event_rows *rows, void *table, unsigned int count);
/* Give CPUs that came, or came back, events of armed rows; false when one is still to follow. */
bool stapy_event_rows_complete(const struct stapy_event_rows *rows, void *table,
			       unsigned int count);
void stapy_event_rows_stop(const struct stapy_event_rows *rows, void *table, unsigned int count);

#endif

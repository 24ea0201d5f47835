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

/*
 * Make the events of a row in the state that its probe wants; attr says what they count.
 * Process context, with no lock held: the kernel takes those of CPU hotplug meanwhile.
 */
int stapy_events_arm(struct stapy_site *site, struct stapy_events *events,
		     struct perf_event_attr *attr);
/* Enable or disable them when the condition of the probe has changed. */
void stapy_events_rearm(struct stapy_site *site, struct stapy_events *events);
/* Give CPUs that came, or came back, events of an armed row; false when one is still to follow. */
bool stapy_events_complete(struct stapy_site *site, struct stapy_events *events,
			   struct perf_event_attr *attr);
void stapy_events_disarm(struct stapy_events *events);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf events of a row, one on every CPU that is there. */
#ifndef STAPY_EVENTS_H
#define STAPY_EVENTS_H

struct perf_event;

struct stapy_events {
	struct perf_event * __percpu *on;	/* NULL: the row is not armed */
	bool armed;				/* they are enabled */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.trace: the probe function is attached to the tracepoint itself, found
 * by name, so no kernel header with the event's definition is needed.
 */
#ifndef STAPY_TRACEPOINT_H
#define STAPY_TRACEPOINT_H

struct stapy_tracepoint_row {
	struct stapy_site site;
	const char *name;		/* without the system */
	const char *module;		/* NULL: vmlinux; else it may be loaded later */
	u8 nargs;			/* as the tracepoint passes them, 0..12 */
	/* run-time state below */
	struct tracepoint *tp;		/* or NULL: it is not there */
	bool armed;
	bool failed;			/* it is there, and the reason was told */
};

extern const struct stapy_family stapy_tracepoint;

#endif

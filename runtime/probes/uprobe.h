/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions and places of user programs: uprobes and uretprobes. */
#ifndef STAPY_UPROBE_H
#define STAPY_UPROBE_H

struct stapy_user_file;

struct stapy_uprobe_row {
	struct stapy_site site;
	const char *file;		/* that the place is in */
	const char *program;		/* only processes that run this file; NULL: all */
	int pid;			/* only this process; 0: all */
	u64 offset;			/* of the breakpoint, in the file */
	unsigned int distance;		/* how far that is behind the place that is meant */
	u64 counter;			/* of a mark, in the file: the kernel keeps it above 0; or 0 */
	const int *callers;		/* who must have called, see user/callers.h; NULL: anybody */
	bool is_return;
	bool optional;
	size_t slot_bytes;		/* values saved at entry; the entry side is site.probe->entry */
	/* run-time state below */
	struct stapy_uprobe_row *same;	/* the next one of this place, in the order of the script */
	const struct stapy_user_file *held;
	int scope;			/* negative: everybody that maps the file */
	const unsigned long *members;	/* of the scope, by thread group; NULL: everybody */
	struct stapy_uprobe_slots *slots;
};

extern const struct stapy_family stapy_uprobe;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.data: the CPU's debug registers watch up to eight bytes of kernel memory each, or an instruction. */
#ifndef STAPY_WATCHPOINT_H
#define STAPY_WATCHPOINT_H

#include "events.h"

struct stapy_watchpoint_row {
	struct stapy_site site;
	const char *symbol;		/* or NULL: address */
	unsigned long address;
	u8 length;			/* bytes: 1, 2, 4, 8 */
	bool reads;			/* hit by reads as well as by writes */
	bool executes;			/* hit by an instruction there only, whatever the length */
	/* run-time state below */
	unsigned long found;		/* the address that it is at */
	struct stapy_events events;
};

extern const struct stapy_family stapy_watchpoint;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel knows of one place in a program's file; all rows that name it. */
#ifndef STAPY_UPROBE_PLACE_H
#define STAPY_UPROBE_PLACE_H

#include "../compat/linux/uprobes.h"

struct stapy_uprobe_place {
	struct stapy_uprobe uprobe;
	struct stapy_uprobe_row *entries, *returns;	/* in the order of the script */
	bool everybody;			/* a row is meant for whoever comes */
	u64 counter;			/* of a mark among them; or 0 */
	int error;
};

/* What the kernel calls there, once all its rows are known. */
void stapy_uprobe_set_callbacks(struct stapy_uprobe_place *place);
/* Calls whose return the kernel will not tell of, since this was last asked. */
long stapy_uprobe_lost_returns(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at the address space of the current process: to walk its stack, or for a name. */
#ifndef STAPY_USER_LOOK_H
#define STAPY_USER_LOOK_H

#include "objects.h"

#define STAPY_LOOK_RANGES 8
#define STAPY_LOOK_RULES 256		/* a power of two */

/* How a frame is left at one place. Objects stay until the module goes, so what was true stays so. */
struct stapy_rule_kept {
	const struct stapy_object *object;
	u64 at;				/* from the object's base */
	struct stapy_frame_rule rule;
};

/* What a CPU keeps for the hit that it is in, and the rules for all of them. */
struct stapy_look_kept {
	u64 hit;
	struct mm_struct *mm;
	unsigned int depth, wanted;
	bool walked;
	unsigned int nr_ranges, next_range;
	struct stapy_user_range ranges[STAPY_LOOK_RANGES];
	struct stapy_rule_kept rules[STAPY_LOOK_RULES];
	unsigned long stack[];
};

struct stapy_look {
	struct stapy_look_kept *kept;
	bool may_lock, locked;
	bool walks;		/* a stack: one that ends early is counted */
};

/* Where the rule for a place is kept, if it is: one of another place may be there instead. */
static __always_inline struct stapy_rule_kept *stapy_look_rule(struct stapy_look_kept *kept,
							       const struct stapy_object *object,
							       u64 at)
{
	u32 mixed = (u32)(at + ((unsigned long)object >> 6)) * (u32)STAPY_MIX;

	return &kept->rules[mixed >> (32 - ilog2(STAPY_LOOK_RULES))];
}

/* What this CPU keeps for the hit; NULL: nothing may be seen. Either way the look has an end. */
struct stapy_look_kept *stapy_look_begin(struct stapy_context *c, struct stapy_look *look);
void stapy_look_end(struct stapy_look *look);
/* The part that an address is in; NULL: there is none, or the lock cannot be had. */
const struct stapy_user_range *stapy_look_range(struct stapy_look *look, unsigned long address);
/* Count a stack that ends in a part of which nothing is known. */
void stapy_look_unknown(const struct stapy_user_range *range);

#endif

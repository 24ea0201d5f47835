/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How those who follow processes keep the members of scopes right; the rest asks by targets.h. */
#ifndef STAPY_USER_SCOPES_H
#define STAPY_USER_SCOPES_H

#include "targets.h"

/* What a file makes of a process that runs it. */
struct stapy_verdict {
	u32 scopes;
	u16 programs[STAPY_SCOPES];
};

/* What is meant by a file, whose reference is given back; NULL is none. */
struct stapy_verdict stapy_scopes_judge(struct file *file);
void stapy_scopes_set(pid_t group, struct stapy_verdict found);
/* A new thread group has the scopes of its parent; who is no heir has none. */
void stapy_scopes_inherit(pid_t child, pid_t parent, bool heir);

/* The target of -c or -x and what it forked: all others are in no scope, once this is made. */
int stapy_hierarchy_make(void);
bool stapy_hierarchy_exists(void);
/* No effect where there is none. */
void stapy_hierarchy_add(pid_t group);

/* All scopes and the hierarchy: nobody follows processes any more. */
void stapy_scopes_free(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lock of the current process's address space, which probes may only try. */
#ifndef STAPY_USER_MAPLOCK_H
#define STAPY_USER_MAPLOCK_H

struct stapy_context;

/* Has the current task an address space of its own? */
bool stapy_maps_possible(void);
/* May the lock be taken, and given back, where this probe was hit? */
bool stapy_maps_lockable(struct stapy_context *c);
/* Take it for reading; false when somebody keeps it. Only where it is lockable. */
bool stapy_maps_trylock(void);

#endif

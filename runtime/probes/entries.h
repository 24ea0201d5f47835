/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers with which functions were entered, for probes in their middle: the
 * compiler often leaves a parameter nowhere else. They are kept under the address
 * of the call's frame (the stack pointer before the call), which no two calls that
 * are under way share, and which the debug information tells at every instruction.
 */
#ifndef STAPY_ENTRIES_H
#define STAPY_ENTRIES_H

struct pt_regs;

/* A function, by its number from 1, is being entered. From any context. */
void stapy_remember_entry(unsigned int function, struct pt_regs *regs);

/* An argument register (0..5) at the entry of the call whose frame is given; false when it is not known. */
bool stapy_entry_register(struct stapy_context *c, s64 *to, unsigned int function,
			  unsigned int which, unsigned long frame, const char *name,
			  const char *place);

int stapy_entries_alloc(void);
void stapy_entries_free(void);

#endif

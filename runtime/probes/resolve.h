/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of functions without a kprobe for each of them. */
#ifndef STAPY_RESOLVE_H
#define STAPY_RESOLVE_H

/* Ask the kernel how to resolve names; worth its 30 ms for some dozens of names. */
void stapy_resolve_prepare(void);

/*
 * Where ftrace calls at the entry of a function of the kernel, when it may be
 * probed; 0 when that is not known for sure, and register_kprobe() has to judge.
 */
unsigned long stapy_resolve_entry(const char *symbol);

#endif

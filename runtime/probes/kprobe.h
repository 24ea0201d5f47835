/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel functions and statements: kprobes and kretprobes. */
#ifndef STAPY_KPROBE_H
#define STAPY_KPROBE_H

struct stapy_module_symbol;

struct stapy_kprobe_row {
	struct stapy_site site;
	const char *symbol;		/* function, or NULL when address is set */
	const char *module;		/* NULL for vmlinux; a module need not be loaded yet */
	unsigned long address;
	unsigned int offset;		/* from the symbol */
	bool is_return;
	bool few_registers;		/* what runs at entry looks at arguments and the stack only */
	int maxactive;			/* return probes: 0 is KRETACTIVE's default */
	size_t slot_bytes;		/* saved entry values; the entry side is site.probe->entry */
	unsigned int remembers;		/* not 0: runs no handler but keeps the registers, see entries.h */
	const int *callers;		/* who must have called, see callers.h; NULL: anybody */
	const struct stapy_module_symbol *symbols;	/* what callers are told from */
};

extern const struct stapy_family stapy_kprobe;

#endif

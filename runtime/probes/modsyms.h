/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of symbols of modules, which come and go. No probes, but started and stopped as they are. */
#ifndef STAPY_MODSYMS_H
#define STAPY_MODSYMS_H

struct stapy_module_symbol {
	const char *name;		/* "module:symbol" */
	unsigned long address;		/* 0 while the module is not there */
};

/* Look up the symbols of the modules that are there. May sleep. */
void stapy_module_symbols_find(struct stapy_module_symbol *rows, unsigned int count);

/* Follows modules that come and go while the session runs. */
extern const struct stapy_family stapy_module_symbols;

#endif

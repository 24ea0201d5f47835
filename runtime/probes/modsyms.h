/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of symbols of modules, which come and go. No probes, but started and stopped as they are. */
#ifndef STAPY_MODSYMS_H
#define STAPY_MODSYMS_H

#define STAPY_PER_CPU ".data..percpu"	/* stands for what offsets of per-CPU variables count from */

struct stapy_module_symbol {
	const char *name;		/* "module:symbol" */
	unsigned long address;		/* 0 while the module is not there */
};

/* This CPU's copy of a variable; no address while the module is not there. */
static inline unsigned long stapy_module_per_cpu(const struct stapy_module_symbol *area, long offset)
{
	unsigned long start = READ_ONCE(area->address);

#ifdef CONFIG_SMP
	if (start)
		start += __per_cpu_offset[raw_smp_processor_id()];
#endif
	return start + offset;
}

/* Look up the symbols of the modules that are there. May sleep. */
void stapy_module_symbols_find(struct stapy_module_symbol *rows, unsigned int count);

/* Follows modules that come and go while the session runs. */
extern const struct stapy_family stapy_module_symbols;

#endif

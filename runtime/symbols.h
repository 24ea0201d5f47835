/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel stacks and symbols, by the kernel's own unwinder and kallsyms. */
#ifndef STAPY_SYMBOLS_H
#define STAPY_SYMBOLS_H

/*
 * Addresses of the stack of the probed context, innermost first, at most max and
 * at most MAXBACKTRACE. They are kept until the hit ends, so asking again is cheap.
 */
unsigned int stapy_kernel_stack(struct stapy_context *c, const unsigned long **to,
				unsigned int max);
/*
 * The same of a task, which may be any number; 0 when it is no task, runs on
 * another CPU, or in an NMI. The addresses last until the next call of either.
 */
unsigned int stapy_task_stack(struct stapy_context *c, unsigned long task,
			      const unsigned long **to, unsigned int max);

/* "name", "name+0x1f/0x80" …; the hex address when there is no symbol. */
void stapy_symbol_name(char *to, size_t bytes, unsigned long address);
void stapy_symbol_data(char *to, size_t bytes, unsigned long address);
/* "name+0x1f [module]" */
void stapy_symbol_offset(char *to, size_t bytes, unsigned long address);
/* "kernel" or the module's name; "" when the address belongs to neither. */
void stapy_module_name(char *to, size_t bytes, unsigned long address);

/* Where a symbol of the kernel, code or data, is in memory; 0 when there is none. May sleep. */
unsigned long stapy_symbol_address(const char *name);

#endif

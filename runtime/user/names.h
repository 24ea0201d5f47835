/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the current process's addresses, and the texts of its stacks. */
#ifndef STAPY_USER_NAMES_H
#define STAPY_USER_NAMES_H

struct stapy_context;

/* What shall be in the text of an address. */
#define STAPY_SYMBOL_OFFSET 1		/* name+0x12 */
#define STAPY_SYMBOL_SIZE 2		/* name+0x12/0x34, [file+0x123/0x45000] */
#define STAPY_SYMBOL_FILE 4		/* [/path/file] */
#define STAPY_SYMBOL_BASENAME 8		/* [file] */
#define STAPY_SYMBOL_LINE 16		/* at source.c:12, before the file */

/*
 * Text of an address: of the function that it is in, or the address in hexadecimal, with its
 * file where it has one. True when the function is known. A return address means the call.
 */
bool stapy_user_symbol(struct stapy_context *c, char *to, size_t bytes, unsigned long address,
		       unsigned int wanted, bool is_return);
/* "source.c", "12", "source.c:12" of an address; in hexadecimal when its line is not known. */
void stapy_user_line(struct stapy_context *c, char *to, size_t bytes, unsigned long address,
		     bool file, bool line);
/* The file that an address is mapped from, or false. */
bool stapy_user_file_name(struct stapy_context *c, char *to, size_t bytes, unsigned long address);
/* The address that it was linked with, or false. */
bool stapy_user_linked(struct stapy_context *c, unsigned long address, unsigned long *linked);

/*
 * Lines of print_ubacktrace(), with source lines of print_ubacktrace_fileline(), and of
 * print_ubacktrace_brief() and sprint_ubacktrace().
 */
void stapy_user_stack_print(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return, bool with_lines);
void stapy_user_stack_brief(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return);
void stapy_user_stack_symbols(struct stapy_context *c, char *to, size_t bytes,
			      const unsigned long *stack, unsigned int n, bool is_return);
/* Lines of a list of addresses, as the text functions above give it. */
void stapy_user_symbols_print(struct stapy_context *c, const char *list);
void stapy_user_symbols_text(struct stapy_context *c, char *to, size_t bytes, const char *list);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of kernel addresses, from tables that were packed when the script was translated. */
#ifndef STAPY_LINES_H
#define STAPY_LINES_H

/* One table; its format is told in stapy/debuginfo/lookup/line_pack.py. */
struct stapy_line_table {
	const char *module;		/* NULL: the kernel itself */
	unsigned long start;		/* kernel: where the table's first address is */
	unsigned long size;		/* addresses that it covers */
	const u8 *data;
	u32 bytes;
	const u32 *symbols;		/* module: pairs of a name's hash and its place in the table */
	u32 nr_symbols;
};

/* False when no line is known; *file lives as long as the module. */
bool stapy_find_line(unsigned long address, const char **file, u32 *line);

/* "file", "line", "file:line"; the hex address when they are not known. */
void stapy_symbol_line(char *to, size_t bytes, unsigned long address, bool file, bool line);
/* As stapy_symbol_data(), with " at file:line" before the module. A return address means the call. */
void stapy_symbol_data_line(char *to, size_t bytes, unsigned long address, bool is_return_address);

#endif

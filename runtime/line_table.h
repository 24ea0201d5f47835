/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed tables of source lines: of the kernel, made by pass 2 (stapy/debuginfo/lookup/line_pack.py
 * tells the format), and of programs, made by the consumer (stapy/run/lines.py).
 */
#ifndef STAPY_LINE_TABLE_H
#define STAPY_LINE_TABLE_H

/* False when no line is known; *file lives as long as the table. */
bool stapy_line_find(const u8 *table, u32 offset, const char **file, u32 *line);
/* Is nothing read beyond it, whatever is looked for? */
bool stapy_line_is_sound(const u8 *table, u32 bytes);

#endif

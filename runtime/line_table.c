// SPDX-License-Identifier: GPL-2.0-or-later
/* Packed tables of source lines: binary search, then at most one block is decoded. */
#include "internal.h"
#include "line_table.h"

struct reader {
	const u8 *at, *end;
};

static u32 next_number(struct reader *r)
{
	u32 value = 0;
	unsigned int shift;
	u8 byte;

	for (shift = 0; r->at < r->end && shift < 32; shift += 7) {
		byte = *r->at++;
		value |= (u32)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

static u32 word(const u8 *data, u32 at)
{
	return le32_to_cpup((const __le32 *)(data + at));	/* all of these are aligned */
}

/* The last row of a table that is not behind `offset`. */
static bool find_row(const u8 *t, u32 offset, u32 *file, u32 *line)
{
	u32 blocks = word(t, 0), data = word(t, 8), end = word(t, 12);
	u32 low = 0, high = blocks, address;
	struct reader r;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (word(t, 16 + 8 * middle) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	address = word(t, 16 + 8 * (low - 1));
	r.at = t + data + word(t, 20 + 8 * (low - 1));
	r.end = low < blocks ? t + data + word(t, 20 + 8 * low) : t + end;
	*file = next_number(&r);
	*line = next_number(&r);
	while (r.at < r.end) {
		u32 code;

		address += next_number(&r);
		if (address > offset)
			break;
		code = next_number(&r);
		if (code & 1)
			*file = next_number(&r);
		code >>= 1;
		*line += code & 1 ? -(code / 2) - 1 : code / 2;
	}
	return *file && *file < word(t, 4);
}

bool stapy_line_find(const u8 *table, u32 offset, const char **file, u32 *line)
{
	u32 number;

	if (!find_row(table, offset, &number, line))
		return false;
	*file = (const char *)table + word(table, 12) +
		word(table, 16 + 8 * word(table, 0) + 4 * number);
	return true;
}

bool stapy_line_is_sound(const u8 *table, u32 bytes)
{
	u32 blocks, files, data, strings, i;

	if (bytes < 16)
		return false;
	blocks = word(table, 0);
	files = word(table, 4);
	data = word(table, 8);
	strings = word(table, 12);
	if (data != 16 + 8 * (u64)blocks + 4 * (u64)files || data > strings || strings >= bytes)
		return false;
	for (i = 0; i < blocks; i++) {
		u32 place = word(table, 20 + 8 * i);

		if (place > strings - data || (i && place < word(table, 12 + 8 * i)) ||
		    (i && word(table, 16 + 8 * i) < word(table, 8 + 8 * i)))
			return false;
	}
	for (i = 0; i < files; i++)
		if (word(table, 16 + 8 * blocks + 4 * i) >= bytes - strings)
			return false;
	return !table[bytes - 1];
}

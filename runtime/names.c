// SPDX-License-Identifier: GPL-2.0-or-later
#include "stapy.h"
#include "names.h"

/* Append text after a "|" when there is some already; false when it does not fit. */
static bool append(char *to, size_t bytes, size_t *used, const char *text)
{
	size_t gap = *used ? 1 : 0;
	size_t length = strlen(text);

	if (*used + gap + length + 1 > bytes)
		return false;
	if (gap)
		to[(*used)++] = '|';
	memcpy(to + *used, text, length + 1);
	*used += length;
	return true;
}

void stapy_flag_names(char *to, size_t bytes, u64 value, const struct stapy_name *rows,
		      unsigned int count, const char *zero)
{
	char number[20];
	size_t used = 0;
	unsigned int i;

	to[0] = '\0';
	if (!value) {
		append(to, bytes, &used, zero ? zero : "0x0");
		return;
	}
	for (i = 0; i < count; i++) {
		u64 bits = rows[i].value;

		if (!bits || (value & bits) != bits)
			continue;
		if (!append(to, bytes, &used, rows[i].name))
			return;
		value &= ~bits;
	}
	if (value) {
		snprintf(number, sizeof(number), "0x%llx", value);
		append(to, bytes, &used, number);
	}
}

void stapy_value_name(char *to, size_t bytes, s64 value, const struct stapy_name *rows,
		      unsigned int count, const char *form)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if ((s64)rows[i].value == value) {
			stapy_copy(to, rows[i].name, bytes);
			return;
		}
	}
	snprintf(to, bytes, form, value);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Source lines of kernel addresses. */
#include "internal.h"
#include "line_table.h"

/* The hexadecimal number behind "+0x". */
static u32 hex_at(const char *text)
{
	u32 value = 0;
	int digit;

	for (text += 3; (digit = hex_to_bin(*text)) >= 0; text++)
		value = value << 4 | digit;
	return value;
}

static u32 hash_of(const char *name, size_t length)
{
	u32 hash = 0x811c9dc5;

	while (length--)
		hash = (hash ^ (u8)*name++) * 0x01000193;
	return hash;
}

static bool symbol_place(const struct stapy_line_table *t, u32 hash, u32 *place)
{
	u32 low = 0, high = t->nr_symbols;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (t->symbols[2 * middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	*place = low < t->nr_symbols ? t->symbols[2 * low + 1] : 0;
	return low < t->nr_symbols && t->symbols[2 * low] == hash;
}

/* Where an address is in the table of the module that it belongs to. */
static const struct stapy_line_table *module_table(unsigned long address, u32 *offset)
{
	const struct stapy_session *s = &stapy_session;
	char *text = this_cpu_ptr(stapy_cpus)->scratch, *module, *plus;
	unsigned int i;
	u32 place;

	/* name+0x12/0x34 [module] */
	sprint_symbol(text, address);
	plus = strchr(text, '+');
	module = strchr(text, '[');
	if (!plus || !module)
		return NULL;
	*offset = hex_at(plus);
	module++;
	module[strcspn(module, " ]")] = '\0';
	for (i = 0; i < s->nr_lines; i++) {
		const struct stapy_line_table *t = &s->lines[i];

		if (!t->module || strcmp(t->module, module))
			continue;
		if (!symbol_place(t, hash_of(text, plus - text), &place))
			return NULL;
		*offset += place;
		return t;
	}
	return NULL;
}

bool stapy_find_line(unsigned long address, const char **file, u32 *line)
{
	const struct stapy_session *s = &stapy_session;
	const struct stapy_line_table *t = NULL;
	unsigned int i;
	u32 offset = 0;

	for (i = 0; i < s->nr_lines && !t; i++)
		if (!s->lines[i].module && address - s->lines[i].start < s->lines[i].size)
			t = &s->lines[i];
	if (t)
		offset = address - t->start;
	else if (s->nr_lines)
		t = module_table(address, &offset);
	return t && stapy_line_find(t->data, offset, file, line);
}

void stapy_symbol_line(char *to, size_t bytes, unsigned long address, bool file, bool line)
{
	const char *name;
	u32 number;

	if (!stapy_find_line(address, &name, &number))
		snprintf(to, bytes, "0x%lx", address);
	else if (!line)
		stapy_copy(to, name, bytes);
	else if (!file)
		snprintf(to, bytes, "%u", number);
	else
		snprintf(to, bytes, "%s:%u", name, number);
}

void stapy_symbol_data_line(char *to, size_t bytes, unsigned long address, bool is_return_address)
{
	const char *name;
	char *bracket;
	u32 number;

	/* A call may be the last instruction of its line, even of its function. */
	if (!stapy_find_line(address - is_return_address, &name, &number)) {
		stapy_symbol_data(to, bytes, address);
		return;
	}
	sprint_symbol(this_cpu_ptr(stapy_cpus)->scratch, address);
	bracket = strchr(this_cpu_ptr(stapy_cpus)->scratch, ' ');
	if (bracket)
		*bracket++ = '\0';
	snprintf(to, bytes, "%s at %s:%u %s", this_cpu_ptr(stapy_cpus)->scratch, name, number,
		 bracket ?: "[kernel]");
}

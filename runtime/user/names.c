// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the current process's addresses, and the texts of its stacks. */
#include "../internal.h"
#include "../line_table.h"
#include "names.h"
#include "look.h"

/* --- text --- */

/* What snprintf() does takes some hundred instructions for each piece. */
struct text {
	char *at, *last;		/* the last byte is the NUL's */
};

static struct text text_in(char *to, size_t bytes)
{
	return (struct text){ to, to + bytes - 1 };
}

static void put(struct text *t, const char *s)
{
	while (*s && t->at < t->last)
		*t->at++ = *s++;
}

static void put_hex(struct text *t, unsigned long value)
{
	int shift = value ? __fls(value) & ~3 : 0;

	put(t, "0x");
	for (; shift >= 0 && t->at < t->last; shift -= 4)
		*t->at++ = hex_asc_lo(value >> shift);
}

/* --- one address --- */

static void put_file(struct text *t, const struct stapy_user_range *range, unsigned int wanted)
{
	const struct stapy_object *object = range->object;

	put(t, " [");
	if (!object)
		put(t, range->name);
	else
		put(t, wanted & STAPY_SYMBOL_BASENAME ? object->base_name : object->name);
}

static bool find_line(const struct stapy_object *object, u64 offset, const char **file, u32 *line)
{
	return object && object->line_bytes && offset - object->base <= U32_MAX &&
	       stapy_line_find(object->lines, offset - object->base, file, line);
}

static bool put_symbol(struct stapy_context *c, struct text *t, unsigned long address,
		       unsigned int wanted, bool is_return)
{
	const unsigned int file = STAPY_SYMBOL_FILE | STAPY_SYMBOL_BASENAME;
	const struct stapy_object_name *name = NULL;
	const struct stapy_user_range *range = NULL;
	const struct stapy_object *object;
	const char *source;
	struct stapy_look look;
	char number[12];
	u64 offset;
	u32 line;

	if (stapy_look_begin(c, &look) && look.may_lock)
		range = stapy_look_range(&look, address - is_return);
	stapy_look_end(&look);
	if (range && !range->is_file && !range->object)
		range = NULL;
	object = range ? range->object : NULL;
	offset = range ? address + range->shift : 0;
	if (object)
		name = stapy_object_name(object, offset - is_return);
	if (name) {
		put(t, object->texts + name->at);
		if (wanted & STAPY_SYMBOL_OFFSET) {
			put(t, "+");
			put_hex(t, offset - object->base - name->start);
		}
		if (wanted & STAPY_SYMBOL_SIZE) {
			put(t, "/");
			put_hex(t, name->size);
		}
	} else {
		put_hex(t, address);
	}
	if (wanted & STAPY_SYMBOL_LINE && find_line(object, offset - is_return, &source, &line)) {
		put(t, " at ");
		put(t, source);
		snprintf(number, sizeof(number), ":%u", line);
		put(t, number);
	}
	if (!range || !(wanted & file))
		return name;
	put_file(t, range, wanted);
	if (!name) {
		put(t, "+");
		put_hex(t, offset + (object ? object->delta : 0));
		if (object && object->span && wanted & STAPY_SYMBOL_SIZE) {
			put(t, "/");
			put_hex(t, object->span);
		}
	}
	put(t, "]");
	return name;
}

bool stapy_user_symbol(struct stapy_context *c, char *to, size_t bytes, unsigned long address,
		       unsigned int wanted, bool is_return)
{
	struct text text = text_in(to, bytes);
	bool is_known = put_symbol(c, &text, address, wanted, is_return);

	*text.at = '\0';
	return is_known;
}

static const struct stapy_user_range *file_of(struct stapy_context *c, unsigned long address)
{
	const struct stapy_user_range *range = NULL;
	struct stapy_look look;

	if (stapy_look_begin(c, &look) && look.may_lock)
		range = stapy_look_range(&look, address);
	stapy_look_end(&look);
	return range && (range->is_file || range->object) ? range : NULL;
}

bool stapy_user_file_name(struct stapy_context *c, char *to, size_t bytes, unsigned long address)
{
	const struct stapy_user_range *range = file_of(c, address);

	if (range)
		stapy_copy(to, range->object ? range->object->name : range->name, bytes);
	return range;
}

void stapy_user_line(struct stapy_context *c, char *to, size_t bytes, unsigned long address,
		     bool file, bool line)
{
	const struct stapy_user_range *range = file_of(c, address);
	const char *source;
	u32 number;

	if (!range || !find_line(range->object, address + range->shift, &source, &number))
		snprintf(to, bytes, "0x%lx", address);
	else if (!line)
		stapy_copy(to, source, bytes);
	else if (!file)
		snprintf(to, bytes, "%u", number);
	else
		snprintf(to, bytes, "%s:%u", source, number);
}

bool stapy_user_linked(struct stapy_context *c, unsigned long address, unsigned long *linked)
{
	const struct stapy_user_range *range = file_of(c, address);

	if (range)
		*linked = address + range->shift + (range->object ? range->object->delta : 0);
	return range;
}

/* --- stacks and lists --- */

#define FULL (STAPY_SYMBOL_OFFSET | STAPY_SYMBOL_SIZE | STAPY_SYMBOL_FILE)

/* Text of an address where the kernel's stack has no room for it; true when its name is known. */
static bool in_scratch(struct stapy_context *c, char **text, unsigned long address,
		       unsigned int wanted, bool is_return)
{
	struct stapy_cpu *cpu = this_cpu_ptr(stapy_cpus);

	*text = cpu->scratch;
	return stapy_user_symbol(c, *text, sizeof(cpu->scratch), address, wanted, is_return);
}

static void print_address(struct stapy_context *c, unsigned long address, bool is_return,
			  unsigned int wanted)
{
	char *text;

	if (in_scratch(c, &text, address, wanted, is_return))
		stapy_printf(c, " 0x%lx : %s\n", address, text);
	else
		stapy_printf(c, " %s\n", text);
}

void stapy_user_stack_print(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return, bool with_lines)
{
	const unsigned int wanted = FULL | (with_lines ? STAPY_SYMBOL_LINE : 0);
	unsigned int i;

	if (!n) {
		stapy_printf(c, "<no user backtrace at %s>\n", c->site->point);
		return;
	}
	if (is_return) {
		stapy_printf(c, "Returning from: ");
		print_address(c, c->address, false, wanted);
		stapy_printf(c, "Returning to  : ");
	}
	for (i = 0; i < n; i++)
		print_address(c, stack[i], i || is_return, wanted);
}

void stapy_user_stack_brief(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return)
{
	unsigned int i;
	char *text;

	if (!n)
		stapy_printf(c, "<no user backtrace at %s>\n", c->site->point);
	for (i = 0; i < n; i++) {
		in_scratch(c, &text, stack[i], STAPY_SYMBOL_OFFSET, i || is_return);
		stapy_printf(c, "%s\n", text);
	}
}

void stapy_user_stack_symbols(struct stapy_context *c, char *to, size_t bytes,
			      const unsigned long *stack, unsigned int n, bool is_return)
{
	const unsigned int wanted = STAPY_SYMBOL_OFFSET | STAPY_SYMBOL_BASENAME;
	struct text text = text_in(to, bytes);
	unsigned int i;

	for (i = 0; i < n; i++) {
		put_symbol(c, &text, stack[i], wanted, i || is_return);
		put(&text, "\n");
	}
	*text.at = '\0';
}

/* The next address of a list; false at the end. */
static bool next_address(const char **at, unsigned long *address)
{
	const char *s = *at;
	bool any = false;

	*address = 0;
	while (*s == ' ' || *s == '\n' || *s == '\t')
		s++;
	if (s[0] == '0' && (s[1] | 32) == 'x')
		s += 2;
	for (; hex_to_bin(*s) >= 0; s++) {
		*address = *address << 4 | hex_to_bin(*s);
		any = true;
	}
	*at = s;
	return any;
}

void stapy_user_symbols_print(struct stapy_context *c, const char *list)
{
	unsigned long address;
	bool behind = false;
	char *text;

	for (; next_address(&list, &address); behind = true) {
		in_scratch(c, &text, address, FULL, behind);
		stapy_printf(c, " 0x%lx : %s\n", address, text);
	}
}

void stapy_user_symbols_text(struct stapy_context *c, char *to, size_t bytes, const char *list)
{
	unsigned long address;
	bool behind = false;
	size_t used = 0;
	char *text;

	for (; next_address(&list, &address); behind = true) {
		in_scratch(c, &text, address, FULL, behind);
		used += scnprintf(to + used, bytes - used, " 0x%lx : %s\n", address, text);
	}
	to[used] = '\0';
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of the kernel, by its own kallsyms. */
#include "internal.h"
#include "compat/linux/kprobes.h"

/* kallsyms writes up to KSYM_SYMBOL_LEN bytes, more than a stack should give. */
static char *scratch(void)
{
	return this_cpu_ptr(stapy_cpus)->scratch;
}

static bool unknown(const char *text)
{
	return text[0] == '0' && text[1] == 'x';
}

void stapy_symbol_name(char *to, size_t bytes, unsigned long address)
{
	char *text = scratch();

	sprint_symbol_no_offset(text, address);
	stapy_copy(to, text, bytes);
	/* "name [module]": the name alone */
	if (!unknown(to))
		to[strcspn(to, " ")] = '\0';
}

void stapy_symbol_data(char *to, size_t bytes, unsigned long address)
{
	char *text = scratch();

	sprint_symbol(text, address);
	stapy_copy(to, text, bytes);
	if (!unknown(to) && !strchr(to, '['))
		stapy_concat(to, to, " [kernel]", bytes);
}

void stapy_symbol_offset(char *to, size_t bytes, unsigned long address)
{
	char *size;

	stapy_symbol_data(to, bytes, address);
	size = unknown(to) ? NULL : strchr(to, '/');
	if (size)
		memmove(size, size + strcspn(size, " "), strlen(size + strcspn(size, " ")) + 1);
}

void stapy_module_name(char *to, size_t bytes, unsigned long address)
{
	char *text = scratch(), *bracket;

	sprint_symbol(text, address);
	if (unknown(text)) {
		stapy_copy(to, "", bytes);
		return;
	}
	bracket = strchr(text, '[');
	if (!bracket) {
		stapy_copy(to, "kernel", bytes);
		return;
	}
	/* a build-id may follow the name */
	bracket++;
	bracket[strcspn(bracket, " ]")] = '\0';
	stapy_copy(to, bracket, bytes);
}

/*
 * The kernel's table of names is not open to modules, but registering a kprobe
 * looks a name up and leaves the address behind, also when it then refuses to
 * have a probe there because the symbol is no code.
 */
unsigned long stapy_symbol_address(const char *name)
{
	struct kprobe kp = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };

	if (!register_kprobe(&kp))
		unregister_kprobe(&kp);
	return kp.addr ? stapy_function_start((unsigned long)kp.addr) : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of symbols of modules: looked up when a module is there or comes, forgotten when it goes. */
#include "../internal.h"

static struct stapy_module_symbol *all_rows;
static unsigned int nr_rows;

static bool belongs_to(const char *name, const char *module)
{
	size_t length = strlen(module);

	return !strncmp(name, module, length) && name[length] == ':';
}

/* In struct module, to which a symbol of every module leads. */
static unsigned long per_cpu_area(const char *name, size_t module_bytes)
{
	char symbol[MODULE_NAME_LEN + sizeof("__this_module")];
	unsigned long area = 0;
#ifdef CONFIG_SMP
	const struct module *module;

	if (module_bytes > MODULE_NAME_LEN)
		return 0;
	memcpy(symbol, name, module_bytes);
	strcpy(symbol + module_bytes, "__this_module");
	module = (const struct module *)stapy_symbol_address(symbol);
	if (module && stapy_peek_kernel(&area, (unsigned long)&module->percpu, sizeof(area)))
		area = 0;
#endif
	return area;
}

static unsigned long find(const char *name)
{
	const char *symbol = strchr(name, ':') + 1;

	if (!strcmp(symbol, STAPY_PER_CPU))
		return per_cpu_area(name, symbol - name);
	return stapy_symbol_address(name);
}

void stapy_module_symbols_find(struct stapy_module_symbol *rows, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		WRITE_ONCE(rows[i].address, find(rows[i].name));
}

static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		if (!belongs_to(all_rows[i].name, module->name))
			continue;
		if (event == MODULE_STATE_COMING)
			stapy_module_symbols_find(&all_rows[i], 1);
		else if (event == MODULE_STATE_GOING)
			WRITE_ONCE(all_rows[i].address, 0);
	}
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

static int start(void *rows, unsigned int count)
{
	unsigned int i;
	int r;

	all_rows = rows;
	nr_rows = count;
	r = register_module_notifier(&module_notifier);
	/* What came after this module was loaded. */
	for (i = 0; i < count && !r; i++) {
		r = stapy_interrupted() ? -EINTR : 0;
		if (!r)
			stapy_module_symbols_find(&all_rows[i], 1);
		else
			unregister_module_notifier(&module_notifier);
	}
	return r;
}

static void stop(void *rows, unsigned int count)
{
	unregister_module_notifier(&module_notifier);
}

const struct stapy_family stapy_module_symbols = {
	.name = "module_symbols",
	.start = start,
	.stop = stop,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a module's constants lie, and how large it is. One area per kind of memory since 6.4, two layouts before. */
#ifndef STAPY_COMPAT_MODULE_H
#define STAPY_COMPAT_MODULE_H

static inline void stapy_module_constants(const struct module *module, const char **start,
					  const char **end)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*start = module->mem[MOD_RODATA].base;
	*end = *start + module->mem[MOD_RODATA].size;
#else
	const char *base = module->core_layout.base;

	*start = base + module->core_layout.text_size;
	*end = base + module->core_layout.ro_size;
#endif
}

/* Code and data, without what is gone after loading. */
static inline u64 stapy_module_bytes(const struct module *module)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	unsigned int type;
	u64 bytes = 0;

	for (type = 0; type < MOD_INIT_TEXT; type++)
		bytes += module->mem[type].size;
	return bytes;
#else
	return module->core_layout.size;
#endif
}

#endif

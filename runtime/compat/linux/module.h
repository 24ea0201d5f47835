/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a module's constants lie. One area per kind of memory since 6.4, two layouts before. */
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

#endif

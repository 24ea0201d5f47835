/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callbacks at the entry of functions. Since 5.11 they get ftrace_regs; ips came in 5.19. */
#ifndef STAPY_COMPAT_FTRACE_H
#define STAPY_COMPAT_FTRACE_H

#if defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS) && LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define STAPY_FTRACE_ENTRIES 1
/*
 * May we call the kernel's own pre_handler of a return probe? It takes the return
 * address from regs->sp, whoever calls it. Older return probes, without rethook,
 * depend on more of what goes around it.
 */
#define STAPY_FTRACE_RETURNS IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK)

static inline int stapy_ftrace_filter(struct ftrace_ops *ops, unsigned long *ips, unsigned int count)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
	return ftrace_set_filter_ips(ops, ips, count, 0, 1);
#else
	unsigned int i;
	int r = 0;

	for (i = 0; i < count && !r; i++)
		r = ftrace_set_filter_ip(ops, ips[i], 0, i == 0);
	return r;
#endif
}
#else
#define STAPY_FTRACE_RETURNS 0
#endif

#endif

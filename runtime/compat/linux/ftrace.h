/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callbacks at the entry of functions. Since 5.11 they get ftrace_regs; ips came in 5.19. */
#ifndef STAPY_COMPAT_FTRACE_H
#define STAPY_COMPAT_FTRACE_H

/* Where kprobes at entries are ftrace's anyway: only there both mean the same address. */
#if defined(CONFIG_KPROBES_ON_FTRACE) && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS) && \
	LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define STAPY_FTRACE_ENTRIES 1
/*
 * May we call the kernel's own pre_handler of a return probe? It takes the return
 * address from regs->sp, whoever calls it. Older return probes, without rethook,
 * depend on more of what goes around it.
 */
#define STAPY_FTRACE_RETURNS IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK)

/*
 * Does a callback that does not ask for all registers get those of the arguments,
 * the stack pointer and the instruction pointer, as if it were a pt_regs?
 */
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS)
#define STAPY_FTRACE_ARGUMENTS 1
#else
#define STAPY_FTRACE_ARGUMENTS 0
#endif

/* The registers that the callback asked for: never NULL. */
static __always_inline struct pt_regs *stapy_ftrace_regs(struct ftrace_regs *fregs)
{
#ifdef CONFIG_X86_64
	/* By whatever name a release has for its first member. */
	return (struct pt_regs *)fregs;
#else
	return ftrace_get_regs(fregs);
#endif
}

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

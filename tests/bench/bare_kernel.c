// SPDX-License-Identifier: GPL-2.0-or-later
/* The least that a probe of the kernel can be: what the kernel calls, which counts for itself. */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

static char *kind;
module_param(kind, charp, 0);

static unsigned long hits;

static void notrace on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			     struct ftrace_regs *regs)
{
	hits++;
}

static struct ftrace_ops ops = { .func = on_entry };
static struct kprobe function = {
	.symbol_name = "__x64_sys_getppid",
	.flags = KPROBE_FLAG_DISABLED,
};

static void notrace on_event(void *data, struct pt_regs *regs, long id)
{
	hits++;
}

static struct tracepoint *event;

static void find(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "sys_enter"))
		event = tp;
}

static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kretprobe returns = { .kp.symbol_name = "vfs_read", .handler = on_return };

static int __init begin(void)
{
	int r;

	if (!strcmp(kind, "return"))
		return register_kretprobe(&returns);
	if (!strcmp(kind, "tracepoint")) {
		for_each_kernel_tracepoint(find, NULL);
		return event ? tracepoint_probe_register(event, on_event, NULL) : -ENOENT;
	}
	/* It is registered for its address only. */
	r = register_kprobe(&function);
	if (r)
		return r;
	r = ftrace_set_filter_ip(&ops, (unsigned long)function.addr, 0, 0);
	unregister_kprobe(&function);
	return r ?: register_ftrace_function(&ops);
}

static void __exit end(void)
{
	if (!strcmp(kind, "return")) {
		unregister_kretprobe(&returns);
	} else if (!strcmp(kind, "tracepoint")) {
		tracepoint_probe_unregister(event, on_event, NULL);
		tracepoint_synchronize_unregister();
	} else {
		unregister_ftrace_function(&ops);
		ftrace_free_filter(&ops);
	}
	pr_info("bare: %lu hits\n", hits);
}

module_init(begin);
module_exit(end);
MODULE_DESCRIPTION("Counts the hits of one place of the kernel");
MODULE_LICENSE("GPL");

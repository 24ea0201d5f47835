/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Return probes put the address of the kernel's hook where a function would return to, and keep what
 * was there with the caller's frame pointer, the last call first.
 */
#ifndef STAPY_ARCH_ARM64_HOOKS_H
#define STAPY_ARCH_ARM64_HOOKS_H

#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#define STAPY_MOST_HOOKS 16 /* that are looked at for one call */

#ifdef CONFIG_KRETPROBE_ON_RETHOOK
#define STAPY_HOOK struct rethook_node
#define STAPY_HOOK_FRAME(hook) ((hook)->frame)
#define STAPY_HOOKS(task) ((task)->rethooks)
#else
#define STAPY_HOOK struct kretprobe_instance
#define STAPY_HOOK_FRAME(hook) ((unsigned long)(hook)->fp)
#define STAPY_HOOKS(task) ((task)->kretprobe_instances)
#endif

/* The hooks of a task, for stapy_hooked(). */
static inline const struct llist_node *stapy_hooks(const struct task_struct *task)
{
#ifdef CONFIG_KRETPROBES
	return READ_ONCE(STAPY_HOOKS(task).first);
#else
	return NULL;
#endif
}

/*
 * Where a call returns to whose caller has this frame pointer: `link`, or what a hook keeps, of
 * several that of the first one that was made. `hooks` goes on behind what was found. A task that
 * wakes up meanwhile changes its list, so nothing of it is believed to be there.
 */
static inline unsigned long stapy_hooked(const struct llist_node **hooks, unsigned long frame,
					 unsigned long link)
{
#ifdef CONFIG_KRETPROBES
	const struct llist_node *node = *hooks;
	bool found = false;
	unsigned int i;

	for (i = 0; node && i < STAPY_MOST_HOOKS; i++) {
		STAPY_HOOK hook;

		if (copy_from_kernel_nofault(&hook, container_of(node, STAPY_HOOK, llist),
					     sizeof(hook)))
			break;
		node = hook.llist.next;
		if (STAPY_HOOK_FRAME(&hook) == frame) {
			link = (unsigned long)hook.ret_addr;
			*hooks = node;
			found = true;
		} else if (found) {
			break;
		}
	}
#endif
	return link;
}

#endif

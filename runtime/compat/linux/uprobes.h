/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes: what identifies one changed with 6.12 (an inode and an offset before, an object of
 * the kernel's since), and so did the callbacks' arguments, twice. Not in compat/kernel.h, since
 * one family needs it.
 */
#ifndef STAPY_COMPAT_UPROBES_H
#define STAPY_COMPAT_UPROBES_H

#include <asm/mmu_context.h>
#include <linux/uprobes.h>

/* A place that is armed for one consumer. */
struct stapy_uprobe {
	struct uprobe_consumer consumer;
#if !STAPY_HAVE_UPROBE_REGISTER_INODE
	struct uprobe *kernel;
#endif
	bool armed;
};

/* Heads of the callbacks. */
#if STAPY_HAVE_UPROBE_HANDLER_DATA
#define STAPY_ON_UPROBE(name, consumer, regs) \
	static int STAPY_CALLBACK name(struct uprobe_consumer *consumer, struct pt_regs *regs, \
				       __u64 *stapy_unused)
#define STAPY_ON_URETPROBE(name, consumer, function, regs) \
	static int STAPY_CALLBACK name(struct uprobe_consumer *consumer, unsigned long function, \
				       struct pt_regs *regs, __u64 *stapy_unused)
#else
#define STAPY_ON_UPROBE(name, consumer, regs) \
	static int STAPY_CALLBACK name(struct uprobe_consumer *consumer, struct pt_regs *regs)
#define STAPY_ON_URETPROBE(name, consumer, function, regs) \
	static int STAPY_CALLBACK name(struct uprobe_consumer *consumer, unsigned long function, \
				       struct pt_regs *regs)
#endif
#if STAPY_HAVE_UPROBE_FILTER_CONTEXT
#define STAPY_UPROBE_FILTER(name, consumer, mm) \
	static bool name(struct uprobe_consumer *consumer, enum uprobe_filter_ctx stapy_unused, \
			 struct mm_struct *mm)
#else
#define STAPY_UPROBE_FILTER(name, consumer, mm) \
	static bool name(struct uprobe_consumer *consumer, struct mm_struct *mm)
#endif

#ifndef MAX_URETPROBE_DEPTH
#define MAX_URETPROBE_DEPTH 64
#endif

/* Has the current task so many returns pending that the kernel takes no more? At a call. */
static __always_inline bool stapy_uretprobes_full(void)
{
	const struct uprobe_task *task = current->utask;

	return task && task->depth >= MAX_URETPROBE_DEPTH;
}

/* Arm an offset of a file, whose file system the caller holds. May sleep. 0 or a negative errno. */
static inline int stapy_uprobe_arm(struct stapy_uprobe *u, struct inode *inode, loff_t offset,
				   loff_t counter)
{
	int r;

#if STAPY_HAVE_UPROBE_REGISTER_INODE
	r = counter ? uprobe_register_refctr(inode, offset, counter, &u->consumer) :
		      uprobe_register(inode, offset, &u->consumer);
#else
	u->kernel = uprobe_register(inode, offset, counter, &u->consumer);
	r = PTR_ERR_OR_ZERO(u->kernel);
#endif
	u->armed = !r;
	return r;
}

/* Disarm. Handlers may still run, and it must not be armed again, until stapy_uprobes_settle(). */
static inline void stapy_uprobe_disarm(struct stapy_uprobe *u, struct inode *inode, loff_t offset)
{
#if STAPY_HAVE_UPROBE_REGISTER_INODE
	uprobe_unregister(inode, offset, &u->consumer);
#elif STAPY_HAVE_UPROBE_UNREGISTER_NOSYNC
	uprobe_unregister_nosync(u->kernel, &u->consumer);
#else
	uprobe_unregister(u->kernel, &u->consumer);
#endif
	u->armed = false;
}

static inline void stapy_uprobes_settle(void)
{
#if STAPY_HAVE_UPROBE_UNREGISTER_NOSYNC
	uprobe_unregister_sync();
#endif
}

/* The task that an address space belongs to, NULL where this kernel does not say. Under RCU. */
static inline struct task_struct *stapy_mm_owner(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return rcu_dereference(mm->owner);
#else
	return NULL;
#endif
}

/* The thread group of that task, or 0. */
static inline pid_t stapy_mm_group(struct mm_struct *mm)
{
	struct task_struct *owner;
	pid_t group;

	rcu_read_lock();
	owner = stapy_mm_owner(mm);
	group = owner ? owner->tgid : 0;
	rcu_read_unlock();
	return group;
}

/* How the kernel reads the instructions of an address space. */
static inline bool stapy_mm_is_64bit(struct mm_struct *mm)
{
#ifdef CONFIG_ARM64
	return !IS_ENABLED(CONFIG_COMPAT) || !(mm->context.flags & MMCF_AARCH32);
#else
	return is_64bit_mm(mm);
#endif
}

#endif

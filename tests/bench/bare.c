// SPDX-License-Identifier: GPL-2.0-or-later
/* The least that a probe in a program can be: a consumer that counts its hits for itself. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/uprobes.h>
#include <linux/version.h>

static char *file;
module_param(file, charp, 0);
static unsigned long offset;
module_param(offset, ulong, 0);
static bool returns;
module_param(returns, bool, 0);

static unsigned long hits;
static struct path held;

static int on_entry(struct uprobe_consumer *consumer, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int on_return(struct uprobe_consumer *consumer, unsigned long function,
		     struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct uprobe_consumer consumer;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static struct uprobe *probe;

static int arm(struct inode *inode)
{
	probe = uprobe_register(inode, offset, 0, &consumer);
	return PTR_ERR_OR_ZERO(probe);
}

static void disarm(struct inode *inode)
{
	uprobe_unregister_nosync(probe, &consumer);
	uprobe_unregister_sync();
}
#else
static int arm(struct inode *inode)
{
	return uprobe_register(inode, offset, &consumer);
}

static void disarm(struct inode *inode)
{
	uprobe_unregister(inode, offset, &consumer);
}
#endif

static int __init begin(void)
{
	int r = kern_path(file, LOOKUP_FOLLOW, &held);

	if (r)
		return r;
	if (returns)
		consumer.ret_handler = on_return;
	else
		consumer.handler = on_entry;
	r = arm(d_real_inode(held.dentry));
	if (r)
		path_put(&held);
	return r;
}

static void __exit end(void)
{
	disarm(d_real_inode(held.dentry));
	path_put(&held);
	pr_info("bare: %lu hits\n", hits);
}

module_init(begin);
module_exit(end);
MODULE_DESCRIPTION("Counts the hits of one place of a program");
MODULE_LICENSE("GPL");

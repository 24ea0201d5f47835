/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening files, and the one that an address space runs; not in compat/kernel.h: few families need it. */
#ifndef STAPY_COMPAT_FILE_H
#define STAPY_COMPAT_FILE_H

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>

/* With a reference for the caller, or NULL. The kernel's own function is not exported. */
static inline struct file *stapy_exe_file(struct mm_struct *mm)
{
	struct file *file;

	rcu_read_lock();
#if STAPY_HAVE_GET_FILE_RCU
	file = get_file_rcu(&mm->exe_file);
#else
	file = rcu_dereference(mm->exe_file);
	if (file && !get_file_rcu(file))
		file = NULL;
#endif
	rcu_read_unlock();
	return file;
}

/* Open a path below the root of a file system that is mounted nowhere. May sleep. */
static inline struct file *stapy_open_below(struct vfsmount *mount, const char *path, int flags)
{
#if STAPY_HAVE_FILE_OPEN_ROOT_PATH
	struct path top = { .mnt = mount, .dentry = mount->mnt_root };

	return file_open_root(&top, path, flags, 0);
#else
	return file_open_root(mount->mnt_root, mount, path, flags, 0);
#endif
}

#endif

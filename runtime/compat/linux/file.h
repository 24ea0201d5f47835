/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that an address space runs; not in compat/kernel.h, since few families need it. */
#ifndef STAPY_COMPAT_FILE_H
#define STAPY_COMPAT_FILE_H

#include <linux/file.h>
#include <linux/fs.h>

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

#endif

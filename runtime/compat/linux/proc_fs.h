/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pde_data() is the name since 5.17 of what was PDE_DATA(). */
#ifndef STAPY_COMPAT_PROC_FS_H
#define STAPY_COMPAT_PROC_FS_H

static inline void *stapy_proc_data(const struct inode *inode)
{
#if STAPY_HAVE_PDE_DATA_FUNCTION
	return pde_data(inode);
#else
	return PDE_DATA(inode);
#endif
}

#endif

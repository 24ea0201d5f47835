/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pde_data() is since 5.17 what the exported PDE_DATA() was. */
#ifndef STAPY_COMPAT_PROC_FS_H
#define STAPY_COMPAT_PROC_FS_H

static inline void *stapy_proc_data(const struct inode *inode)
{
#if STAPY_HAVE_PDE_DATA
	return PDE_DATA(inode);
#else
	return pde_data(inode);
#endif
}

#endif

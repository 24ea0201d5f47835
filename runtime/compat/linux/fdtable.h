/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Embedded C of older scripts says fcheck_files(), which the kernel renamed in 5.11. */
#ifndef STAPY_COMPAT_FDTABLE_H
#define STAPY_COMPAT_FDTABLE_H

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define fcheck_files(files, fd) files_lookup_fd_raw((files), (fd))
#endif

/* What scripts ask SystemTap's runtime about kernels; true of all that stapy knows. */
#define STAPCONF_DPATH_PATH 1
#define STAPCONF_LINUX_UIDGID_H 1

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder in which a module's procfs files lie. May sleep. */
#ifndef STAPY_PROCFS_FOLDER_H
#define STAPY_PROCFS_FOLDER_H

struct proc_dir_entry;

#define STAPY_PROCFS_ROOT "systemtap"	/* all modules' folder, SystemTap's as well */

/* Make this module's, and the one that it is in if that is not there; NULL when that cannot be. */
struct proc_dir_entry *stapy_procfs_make_folder(void);
/* Remove it with all that is in it (NULL: there is none), and that of all modules with the last one. */
void stapy_procfs_remove_folder(struct proc_dir_entry *folder);

#endif

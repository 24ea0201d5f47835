// SPDX-License-Identifier: GPL-2.0-or-later
/* The folder of all modules below /proc, and this module's own in it. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/proc_fs.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "../compat/linux/file.h"
#include "procfs_folder.h"

static struct proc_dir_entry *made;	/* by make_folder() */

/*
 * Is there a folder of all modules, and how many are in it? /proc is looked at from the inside,
 * since whoever called may see another one, or none.
 */
static bool root_exists(unsigned int *folders)
{
	struct file_system_type *type = get_fs_type("proc");
	struct vfsmount *proc;
	struct file *file;

	if (!type)
		return false;
	proc = kern_mount(type);
	module_put(type->owner);
	if (IS_ERR(proc))
		return false;
	file = stapy_open_below(proc, STAPY_PROCFS_ROOT, O_RDONLY | O_DIRECTORY);
	kern_unmount(proc);
	if (IS_ERR(file))
		return false;
	*folders = file_inode(file)->i_nlink - 2;
	fput(file);
	return true;
}

/*
 * Modules share that folder, and proc_mkdir() of one that is there is a warning with a stack. The
 * lock of the kernel's own parameters is one that all modules can take, and hardly anybody does.
 */
static void make_folder(struct work_struct *unused)
{
	char path[sizeof(STAPY_PROCFS_ROOT) + MODULE_NAME_LEN];
	unsigned int folders;

	snprintf(path, sizeof(path), STAPY_PROCFS_ROOT "/%s", stapy_session.name);
	kernel_param_lock(NULL);
	if (root_exists(&folders) || proc_mkdir(STAPY_PROCFS_ROOT, NULL))
		made = proc_mkdir(path, NULL);
	kernel_param_unlock(NULL);
}

static void remove_root(struct work_struct *unused)
{
	unsigned int folders;

	kernel_param_lock(NULL);
	if (root_exists(&folders) && !folders)
		remove_proc_entry(STAPY_PROCFS_ROOT, NULL);
	kernel_param_unlock(NULL);
}

/* A task that is about to be gone, as a consumer that was killed, cannot look at files any more. */
static void in_worker(work_func_t function)
{
	struct work_struct work;

	INIT_WORK_ONSTACK(&work, function);
	queue_work(system_unbound_wq, &work);
	flush_work(&work);
	destroy_work_on_stack(&work);
}

struct proc_dir_entry *stapy_procfs_make_folder(void)
{
	made = NULL;
	in_worker(make_folder);
	return made;
}

void stapy_procfs_remove_folder(struct proc_dir_entry *folder)
{
	if (folder)
		proc_remove(folder);
	in_worker(remove_root);
}

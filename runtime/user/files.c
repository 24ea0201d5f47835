// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that probe points name, as the consumer opened them. */
#include <linux/file.h>
#include <linux/path.h>
#include "../internal.h"
#include "files.h"

static struct stapy_user_file *files;
static unsigned int keepers;

static struct stapy_user_file *named(const char *name)
{
	struct stapy_user_file *file;

	for (file = files; file; file = file->next)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}

/*
 * What the kernel does for a program that runs, for the file that has the pages: one that is
 * written to through an overlay is this one as well, or becomes another file by that.
 */
static int guard_file(struct stapy_user_file *file)
{
	if (!file->guarded && !atomic_dec_unless_positive(&file->real->i_writecount))
		return -ETXTBSY;
	file->guarded = true;
	return 0;
}

static struct stapy_user_file *hold(struct file *file, const char *name)
{
	struct stapy_user_file *added;

	if (!S_ISREG(file_inode(file)->i_mode))
		return ERR_PTR(-EINVAL);
	added = kzalloc(sizeof(*added) + strlen(name) + 1, GFP_KERNEL);
	if (!added)
		return ERR_PTR(-ENOMEM);
	strcpy(added->name, name);
	added->path = file->f_path;
	path_get(&added->path);
	added->inode = file_inode(file);
	added->real = d_real_inode(added->path.dentry);
	added->folder = dget_parent(added->path.dentry);
	take_dentry_name_snapshot(&added->own, added->path.dentry);
	added->next = files;
	files = added;
	return added;
}

int stapy_user_file_add(int fd, const char *name, bool guard)
{
	struct stapy_user_file *held = named(name);
	struct file *file = fget(fd);
	int r = 0;

	if (!file)
		return -EBADF;
	if (!held)
		held = hold(file, name);
	else if (!path_equal(&held->path, &file->f_path))
		r = -EEXIST;
	if (IS_ERR(held))
		r = PTR_ERR(held);
	else if (!r && guard)
		r = guard_file(held);
	fput(file);
	return r;
}

const struct stapy_user_file *stapy_user_file_find(const char *name)
{
	return named(name);
}

/*
 * A new file at the old one's place, which an upgrade leaves there. The name may change while it
 * is read: it always ends, and goes away a grace period later. What was removed is no such file.
 */
static bool took_its_place(const struct stapy_user_file *file, const struct dentry *other)
{
	bool same;

	rcu_read_lock();
	same = READ_ONCE(other->d_parent) == file->folder && !d_unhashed(other) &&
	       !strcmp(READ_ONCE(other->d_name.name), file->own.name.name);
	rcu_read_unlock();
	return same;
}

bool stapy_user_file_is(const struct stapy_user_file *file, struct file *other)
{
	struct inode *inode = file_inode(other);

	return inode == file->inode || inode == file->real ||
	       took_its_place(file, other->f_path.dentry) ||
	       d_real_inode(other->f_path.dentry) == file->real;
}

void stapy_user_files_keep(void)
{
	keepers++;
}

void stapy_user_files_release(void)
{
	struct stapy_user_file *file;

	if (keepers && --keepers)
		return;
	while ((file = files)) {
		files = file->next;
		if (file->guarded)
			atomic_inc(&file->real->i_writecount);
		release_dentry_name_snapshot(&file->own);
		dput(file->folder);
		path_put(&file->path);
		kfree(file);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs and libraries that probe points name. The consumer opens them, which knows about
 * mount namespaces; here they are held. A path is held, never an inode alone: that would not
 * keep its file system when the mount namespace ends, which the kernel answers with a BUG.
 */
#ifndef STAPY_USER_FILES_H
#define STAPY_USER_FILES_H

#include <linux/dcache.h>
#include <linux/path.h>

struct file;
struct inode;

struct stapy_user_file {
	struct stapy_user_file *next;
	struct path path;
	struct inode *inode;		/* as the file was opened */
	struct inode *real;		/* below overlays; often the same */
	bool guarded;			/* nobody may write to it, as if it ran all the time */
	struct dentry *folder;		/* where it was found: a file that replaces it is meant, too */
	struct name_snapshot own;
	char name[];			/* as the point has it */
};

/*
 * Hold what the consumer opened under this name; guard it when places in it are to be armed, which
 * would be anywhere after it was written anew. -ETXTBSY when somebody may write to it already. In
 * process context, before the probes are armed; each family may ask for itself.
 */
int stapy_user_file_add(int fd, const char *name, bool guard);
/* NULL when the consumer could not open it. */
const struct stapy_user_file *stapy_user_file_find(const char *name);
/*
 * Is that the file, another name or overlay of it, or what has taken its place since? The caller
 * holds a reference. May sleep below some overlays, unless the file's content has been looked at.
 */
bool stapy_user_file_is(const struct stapy_user_file *file, struct file *other);
/* Let go of all, when the last family that keeps them does; at once when none does. */
void stapy_user_files_keep(void);
void stapy_user_files_release(void);

#endif

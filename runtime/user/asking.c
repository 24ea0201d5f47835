// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs and libraries of which nothing is known yet: the consumer is asked for their tables. */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "../internal.h"
#include "../transport/control.h"
#include "../transport/files.h"
#include "objects.h"

#define ASKED 64
#define ASK_AGAIN (HZ / 5)
#define UNANSWERED 32

/* Objects that the consumer was asked for, and when; held until it fetches them. */
static struct {
	struct file *file;
	u64 key;
	unsigned long when;
} asked[ASKED];
static atomic_t unanswered = ATOMIC_INIT(0);

/*
 * Whom the memory for a file's table is charged to. A file system in a user's program says of its
 * files what it likes: those that it says are root's are nobody's.
 */
u32 stapy_object_owner(const struct inode *inode)
{
	u32 owner = __kuid_val(inode->i_uid);

	return owner || strncmp(inode->i_sb->s_type->name, "fuse", 4) ? owner : U32_MAX;
}

u64 stapy_object_key(dev_t device, unsigned long number)
{
	return ((u64)device << 40 ^ number) * STAPY_MIX;
}

/*
 * The process may have ended before the consumer looks, so the file is kept for it. Another one
 * at the same place has to wait until then: it asks when it is met again.
 */
void stapy_object_ask(struct file *file)
{
	const struct inode *inode = file_inode(file);
	u64 key = stapy_object_key(inode->i_sb->s_dev, inode->i_ino) | 1;
	unsigned int at = key >> 56 & (ASKED - 1);

	/* A detached session may last for long: it is not to keep file systems busy. */
	if (!stapy_files_attended())
		return;
	if (READ_ONCE(asked[at].key) == key &&
	    time_before(jiffies, READ_ONCE(asked[at].when) + ASK_AGAIN))
		return;
	if (READ_ONCE(asked[at].key) != key || !READ_ONCE(asked[at].file)) {
		if (READ_ONCE(asked[at].file) || atomic_read(&unanswered) >= UNANSWERED)
			return;
		get_file(file);
		if (cmpxchg(&asked[at].file, NULL, file)) {
			/* Never the last reference: it is mapped. */
			fput(file);
			return;
		}
		atomic_inc(&unanswered);
		WRITE_ONCE(asked[at].key, key);
	}
	WRITE_ONCE(asked[at].when, jiffies);
	stapy_control("object", "%u %u", at, stapy_object_owner(inode));
}

/*
 * What an overlay maps is a file of its own, which is not to be anybody's descriptor: the consumer
 * gets another one. It stands for the place and is not open (O_PATH): a file system of a user's own,
 * or one whose server is gone, would be asked, and need not answer.
 */
int stapy_object_fetch(unsigned int number)
{
	struct file *file, *opened;
	int fd;

	if (number >= ASKED)
		return -EINVAL;
	file = xchg(&asked[number].file, NULL);
	if (!file)
		return -ENOENT;
	atomic_dec(&unanswered);
	opened = dentry_open(&file->f_path, O_PATH, current_cred());
	fput(file);
	if (IS_ERR(opened))
		return PTR_ERR(opened);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		fput(opened);
	else
		fd_install(fd, opened);
	return fd;
}

void stapy_objects_forget(void)
{
	struct file *file;
	unsigned int i;

	for (i = 0; i < ASKED; i++) {
		file = xchg(&asked[i].file, NULL);
		if (file) {
			atomic_dec(&unanswered);
			fput(file);
		}
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "../internal.h"

#include <linux/fs.h>
#include <linux/mm.h>

#include "files.h"
#include "mapped.h"
#include "maplock.h"

#define MOST_PARTS 4096			/* of an address space, that are looked at */

static bool has(const struct vm_area_struct *area, const struct stapy_mapped_file *file)
{
	u64 first = (u64)area->vm_pgoff << PAGE_SHIFT;
	const struct inode *inode;

	if (!area->vm_file || !(area->vm_flags & VM_EXEC))
		return false;
	inode = file_inode(area->vm_file);
	return (inode == file->held->inode || inode == file->held->real) && file->code >= first &&
	       file->code - first < area->vm_end - area->vm_start;
}

/*
 * The caller holds the lock of the address space. NULL when there is none, with *more when not all
 * was looked at.
 */
static const struct vm_area_struct *part(const struct stapy_mapped_file *file, bool *more)
{
	const struct vm_area_struct *area = find_vma(current->mm, READ_ONCE(file->last));
	unsigned int i;

	if (area && has(area, file))
		return area;
	area = find_vma(current->mm, 0);
	for (i = 0; area && i < MOST_PARTS; i++) {
		if (has(area, file))
			return area;
		area = find_vma(current->mm, area->vm_end);
	}
	*more = area;
	return NULL;
}

bool stapy_user_mapped(struct stapy_context *c, s64 *to, struct stapy_mapped_file *file,
		       const char *place)
{
	const struct vm_area_struct *area;
	bool more = false;

	if (stapy_session.limits.unprivileged && !stapy_is_myproc())
		return stapy_error(c, place, "the process belongs to somebody else");
	if (!stapy_maps_possible())
		return stapy_error(c, place, "no process here that could have '%s'", file->name);
	if (!stapy_maps_lockable(c))
		return stapy_error(c, place, "where the process has '%s' cannot be told with interrupts "
				   "off, as in the scheduler: read it in a probe of the program or of a "
				   "system call, and keep it", file->name);
	/* The probed code itself may hold it: mmap(), execve() and all that they call. */
	if (!stapy_maps_trylock())
		return stapy_error(c, place, "where the process has '%s' cannot be told while its "
				   "mappings change (mmap, execve, another thread): catch this, or read "
				   "it in a later probe", file->name);
	area = file->held ? part(file, &more) : NULL;
	if (area) {
		*to = area->vm_start + file->code - ((u64)area->vm_pgoff << PAGE_SHIFT);
		WRITE_ONCE(file->last, area->vm_start);
	}
	mmap_read_unlock(current->mm);
	if (more)
		return stapy_error(c, place, "'%s' is not among the first %d mappings of the process",
				   file->name, MOST_PARTS);
	return area || stapy_error(c, place, "the process has no '%s' in its memory", file->name);
}

/* --- the family --- */

static int start(void *rows, unsigned int count)
{
	struct stapy_mapped_file *files = rows;
	unsigned int i;

	stapy_user_files_keep();
	for (i = 0; i < count; i++)
		files[i].held = stapy_user_file_find(files[i].name);
	return 0;
}

/* End probes may run yet: all is let go by release. */
static void stop(void *rows, unsigned int count)
{
}

static int take(void *rows, unsigned int count, int fd, const char *name)
{
	const struct stapy_mapped_file *files = rows;
	unsigned int i;

	for (i = 0; i < count; i++)
		if (!strcmp(files[i].name, name))
			return stapy_user_file_add(fd, name, false);
	return 0;
}

static void release(void *rows, unsigned int count)
{
	stapy_user_files_release();
}

const struct stapy_family stapy_mapped_files = {
	.name = "mapped_files",
	.phases = true,
	.start = start,
	.stop = stop,
	.file = take,
	.release = release,
};

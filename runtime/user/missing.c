// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of the current process that a handler has missed, brought in between two runs of it.
 *
 * Why this may sleep: the kernel calls the consumers of a uprobe in the task itself, on its way
 * back to the program, with interrupts and preemption on. It holds a semaphore for readers
 * (6.1) or is in a section of SRCU or of tasks-trace RCU (later): all may be slept in, as its own
 * sleepable BPF programs do at the same place. The lock of the address space is taken below
 * these, as the kernel does when it arms a place.
 *
 * Who removes the probe waits for us, so nobody may make us wait for as long as he likes: only
 * memory is brought in whose pages come from the kernel itself, a disk, or the hypervisor. What a
 * process serves (FUSE, userfaultfd) or another machine is not. Disks may be far away, throttled
 * or gone, too: the kernel is asked to begin to read, not to wait for it, and asked again until
 * the page is there, for a second. Each time the lock is tried for some milliseconds, and held
 * while it is asked, so that the answer to what may be brought in stays true.
 */
#include <linux/delay.h>
#include <linux/userfaultfd_k.h>

#include "../hit.h"
#include "../compat/linux/mm.h"
#include "missing.h"

#define LOCK_TRIES 20
#define PATIENCE HZ			/* for a page, however the disk does */

/*
 * Where nothing is read ahead the kernel waits for the page, whatever it is told: where the program
 * said so, on devices that do not, and in files that were met in no order (MMAP_LOTSAMISS is 100).
 */
static bool is_read_ahead(const struct vm_area_struct *area)
{
	const struct file_ra_state *ra = &area->vm_file->f_ra;

	return !(area->vm_flags & VM_RAND_READ) && ra->ra_pages && READ_ONCE(ra->mmap_miss) < 64;
}

static bool comes_soon(const struct vm_area_struct *area)
{
	const struct super_block *sb;

	if (userfaultfd_armed((struct vm_area_struct *)area) ||
	    area->vm_flags & (VM_IO | VM_PFNMAP))
		return false;
	if (!area->vm_file)
		return vma_is_anonymous((struct vm_area_struct *)area);
	if (!S_ISREG(file_inode(area->vm_file)->i_mode))
		return false;
	sb = file_inode(area->vm_file)->i_sb;
	if (sb->s_magic == FUSE_SUPER_MAGIC)
		return !strcmp(sb->s_type->name, "virtiofs");
	if (sb->s_magic == TMPFS_MAGIC || sb->s_magic == RAMFS_MAGIC)
		return true;
	/* Btrfs has disks, but no one disk. */
	return (sb->s_bdev || sb->s_magic == BTRFS_SUPER_MAGIC) && is_read_ahead(area);
}

static bool lock_maps(struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (mmap_read_trylock(mm))
			return true;
		usleep_range(100, 500);
	}
	return false;
}

/* One attempt: VM_FAULT_RETRY when the page is on its way. */
static vm_fault_t ask(struct mm_struct *mm, unsigned long address)
{
	vm_fault_t answer = VM_FAULT_SIGSEGV;
	struct vm_area_struct *area;

	if (!lock_maps(mm))
		return answer;
	area = find_vma(mm, address);
	if (area && area->vm_start <= address && area->vm_flags & VM_READ && comes_soon(area))
		answer = handle_mm_fault(area, address,
					 FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT, NULL);
	if (!stapy_fault_unlocked(answer))
		mmap_read_unlock(mm);
	return answer;
}

static bool fetch(struct mm_struct *mm, unsigned long address)
{
	unsigned long until = jiffies + PATIENCE;
	vm_fault_t answer;

	for (;;) {
		answer = ask(mm, address);
		if (!(answer & VM_FAULT_RETRY))
			return !(answer & VM_FAULT_ERROR);
		if (time_after(jiffies, until) || fatal_signal_pending(current) ||
		    stapy_state() != STAPY_RUNNING)
			return false;
		usleep_range(50, 500);
	}
}

bool stapy_missing_fetch(unsigned long address, size_t bytes)
{
	unsigned long last = address + bytes - 1;
	u8 byte;

	might_sleep();
	if (!current->mm || !bytes || last < address || !access_ok((void __user *)address, bytes))
		return false;
	/* Of a string it may be the second page only. */
	while (!stapy_peek_user(&byte, address, 1)) {
		address = (address | ~PAGE_MASK) + 1;
		if (!address || address > last)
			return false;
	}
	return fetch(current->mm, address);
}

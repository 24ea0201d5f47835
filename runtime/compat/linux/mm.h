/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences of <linux/mm.h> and <linux/magic.h>; not in compat/kernel.h, since one family needs them. */
#ifndef STAPY_COMPAT_MM_H
#define STAPY_COMPAT_MM_H

#include <linux/magic.h>
#include <linux/mm.h>

/* Came with 5.13; the number is older. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* Whether a fault is over and the lock of the address space given back, as may be since 6.0. */
static inline bool stapy_fault_unlocked(vm_fault_t answer)
{
#if STAPY_HAVE_VM_FAULT_COMPLETED
	return answer & VM_FAULT_COMPLETED;
#else
	return false;
#endif
}

#endif

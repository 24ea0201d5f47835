/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel puts a kprobe that was asked for at the start of a function; whose a call is. */
#ifndef STAPY_COMPAT_KPROBES_H
#define STAPY_COMPAT_KPROBES_H

/* The return probe of a call. */
static inline struct kretprobe *stapy_kretprobe(struct kretprobe_instance *call)
{
#if STAPY_HAVE_KRETPROBE_OF_INSTANCE
	return call->rp;
#else
	return get_kretprobe(call);
#endif
}

#if defined(CONFIG_X86_64) && __has_include(<asm/ibt.h>)
#include <asm/ibt.h>

#define STAPY_ENDBR_BYTES 4
#define STAPY_ENDBR 0xfa1e0ff3

/* The kernel's own is_endbr() takes the word or, from 7.3 on, its address. */
static inline bool stapy_is_endbr(u32 word)
{
#ifdef CONFIG_X86_KERNEL_IBT
	return word == gen_endbr_poison() || (word & ~0x01000000U) == gen_endbr();
#else
	return false;
#endif
}

/* Behind the landing mark of indirect branches, when the function has one. */
static inline unsigned long stapy_function_start(unsigned long address)
{
	u32 before;

	if (!stapy_peek_kernel(&before, address - STAPY_ENDBR_BYTES, sizeof(before)) &&
	    stapy_is_endbr(before))
		return address - STAPY_ENDBR_BYTES;
	return address;
}
#else
static inline unsigned long stapy_function_start(unsigned long address)
{
	return address;
}
#endif

#endif

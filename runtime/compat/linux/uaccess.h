/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault-safe stores to kernel memory: copy_to_kernel_nofault() is not exported. */
#ifndef STAPY_COMPAT_UACCESS_H
#define STAPY_COMPAT_UACCESS_H

#include "word_at_a_time.h"

#ifdef CONFIG_X86_64
#include <asm/vsyscall.h>
/*
 * An address outside the kernel's half must never reach the store: SMAP makes
 * an access to user memory fatal (the vsyscall page counts as such), and a
 * non-canonical one is a general protection fault, which the kernel reports as
 * a bug.
 */
static inline bool stapy_kernel_address(unsigned long address, size_t size)
{
	unsigned int shift = 64 - boot_cpu_data.x86_virt_bits;
	unsigned long last = address + size - 1;

	return last >= address && address >= TASK_SIZE_MAX + PAGE_SIZE &&
	       (last < VSYSCALL_ADDR || address >= VSYSCALL_ADDR + PAGE_SIZE) &&
	       (unsigned long)((long)(address << shift) >> shift) == address &&
	       (unsigned long)((long)(last << shift) >> shift) == last;
}
#else
static inline bool stapy_kernel_address(unsigned long address, size_t size)
{
	return address + size - 1 >= address && address >= TASK_SIZE_MAX;
}
#endif

/*
 * May this be read as memory of the kernel? x86's kernel asks that itself; without a mechanism that
 * forbids it, others would read what the last process has there.
 */
static __always_inline bool stapy_may_be_kernel(unsigned long address, size_t size)
{
#ifdef CONFIG_X86_64
	return true;
#else
	return stapy_kernel_address(address, size);
#endif
}

/* A word of the current process, with page faults disabled; false when it is not there. */
static __always_inline bool stapy_user_word(unsigned long address, unsigned long *to)
{
#ifdef CONFIG_X86_64
	const unsigned long __user *from = (const unsigned long __user *)address;

	if (!user_access_begin(from, sizeof(*from)))
		return false;
	unsafe_get_user(*to, from, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
#else
	return !copy_from_user_nofault(to, (const void __user *)address, sizeof(*to));
#endif
}

/*
 * The words of a string of the current process up to the one that it ends in, as far as they are
 * in one page and in `bytes`. True with the string's length when it ends there, else nothing is
 * known. Only where the page tables are surely the process's own: never from an NMI, or with
 * interrupts off, where its address space may be changing. What it is stored in is not checked
 * again, as copy_from_user_nofault() does, which takes more than to read it.
 */
static __always_inline bool stapy_user_string_words(char *to, unsigned long address, size_t bytes,
						    size_t *length)
{
#if defined(CONFIG_X86_64) && defined(STAPY_WORD_ACCESS)
	size_t room = min_t(size_t, bytes, PAGE_SIZE - offset_in_page(address)), done;
	const struct word_at_a_time constants __maybe_unused = WORD_AT_A_TIME_CONSTANTS;
	const char __user *from = (const char __user *)address;
	unsigned long word, zeros = 0;

	if (in_nmi() || irqs_disabled())
		return false;
	pagefault_disable();
	if (!user_access_begin(from, room))
		goto out;
	for (done = 0; done + sizeof(word) <= room; done += sizeof(word)) {
		unsafe_get_user(word, (const unsigned long __user *)(from + done), fault);
		memcpy(to + done, &word, sizeof(word));
		if (has_zero(word, &zeros, &constants))
			break;
	}
fault:
	user_access_end();
out:
	pagefault_enable();
	if (!zeros)
		return false;
	*length = done + find_zero(create_zero_mask(prep_zero_mask(word, zeros, &constants)));
	return true;
#else
	return false;
#endif
}

/*
 * copy_to_user() of memory that is surely ours: the check of hardened kernels, which looks it up
 * among all that is mapped, takes longer than to copy a line.
 */
static inline unsigned long stapy_copy_out(void __user *to, const void *from, size_t bytes)
{
	might_fault();
	return likely(access_ok(to, bytes)) ? raw_copy_to_user(to, from, bytes) : bytes;
}

#define STAPY_STORE(type, to, from, fault)					\
	do {									\
		type _value;							\
										\
		memcpy(&_value, from, sizeof(_value));				\
		__put_kernel_nofault(to, &_value, type, fault);			\
	} while (0)

/* 0 or -EFAULT; size is 1, 2, 4 or 8. */
static inline int stapy_store_kernel(unsigned long address, const void *from, size_t size)
{
	void *to = (void *)address;

	if (!stapy_kernel_address(address, size))
		return -EFAULT;
	pagefault_disable();
	switch (size) {
	case 1:
		STAPY_STORE(u8, to, from, fault);
		break;
	case 2:
		STAPY_STORE(u16, to, from, fault);
		break;
	case 4:
		STAPY_STORE(u32, to, from, fault);
		break;
	case 8:
		STAPY_STORE(u64, to, from, fault);
		break;
	default:
		goto fault;
	}
	pagefault_enable();
	return 0;
fault:
	pagefault_enable();
	return -EFAULT;
}

#endif

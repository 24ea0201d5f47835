/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of strings: what lies behind a buffer is there, as in the kernel, but its content is noise. */
#ifndef SHIM_WORD_AT_A_TIME_H
#define SHIM_WORD_AT_A_TIME_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define __asan_address_is_poisoned(byte) false
#endif

struct word_at_a_time {
	unsigned long ones, highs;
};

#define WORD_AT_A_TIME_CONSTANTS { 0x0101010101010101UL, 0x8080808080808080UL }

static inline unsigned long has_zero(unsigned long word, unsigned long *mask,
				     const struct word_at_a_time *c)
{
	return *mask = (word - c->ones) & ~word & c->highs;
}

#define prep_zero_mask(word, mask, constants) (mask)

static inline unsigned long create_zero_mask(unsigned long mask)
{
	return ((mask - 1) & ~mask) >> 7;
}

#define zero_bytemask(mask) (mask)

static inline unsigned long load_unaligned_zeropad(const void *at)
{
	unsigned long word = 0;
	unsigned int i;

	for (i = 0; i < sizeof(word); i++) {
		const u8 *byte = (const u8 *)at + i;
		/* Neither a zero, which would end a string, nor always the same. */
		u8 content = __asan_address_is_poisoned(byte) ? 1 + (uintptr_t)byte % 255 : *byte;

		word |= (unsigned long)content << 8 * i;
	}
	return word;
}

#endif

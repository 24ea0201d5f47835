/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings a word at a time; not in compat/kernel.h, since only the runtime's own strings need it. */
#ifndef STAPY_COMPAT_WORD_AT_A_TIME_H
#define STAPY_COMPAT_WORD_AT_A_TIME_H

#if defined(CONFIG_DCACHE_WORD_ACCESS) && defined(CONFIG_64BIT) && defined(__LITTLE_ENDIAN)
#include <asm/word-at-a-time.h>

#define STAPY_WORD_ACCESS 1
#ifndef bytemask_from_count
#define bytemask_from_count(count) (~(~0UL << (count) * 8))	/* little-endian, count < 8 */
#endif
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings a word at a time: for copies, and for keys of arrays. */
#ifndef STAPY_WORDS_H
#define STAPY_WORDS_H

#include "compat/linux/word_at_a_time.h"

#define STAPY_WORD sizeof(u64)

#ifdef STAPY_WORD_ACCESS
static __always_inline bool stapy_word_ends(u64 word, unsigned long *mask)
{
	const struct word_at_a_time constants __maybe_unused = WORD_AT_A_TIME_CONSTANTS;

	return has_zero(word, mask, &constants);
}

/*
 * The next characters of a string, `most` at most, with zeros from its end on;
 * *end says that it ended in here. A word may reach into a page that is not
 * there: its bytes read as zeros.
 */
static __always_inline u64 stapy_word_of(const char *s, size_t most, bool *end)
{
	const struct word_at_a_time constants __maybe_unused = WORD_AT_A_TIME_CONSTANTS;
	unsigned long word = load_unaligned_zeropad(s), zeros;

	*end = stapy_word_ends(word, &zeros);
	if (*end) {
		zeros = prep_zero_mask(word, zeros, &constants);
		word &= zero_bytemask(create_zero_mask(zeros));
	}
	if (most < STAPY_WORD) {
		word &= bytemask_from_count(most);
		*end = true;
	}
	return word;
}

/* The next characters of a string when they are a whole word in which it does not end. */
static __always_inline bool stapy_word_full(const char *s, size_t most, u64 *word)
{
	unsigned long zeros;

	if (most < STAPY_WORD)
		return false;
	*word = load_unaligned_zeropad(s);
	return !stapy_word_ends(*word, &zeros);
}

/* Does a word of a string hold its NUL? */
static __always_inline bool stapy_word_is_last(u64 word)
{
	unsigned long zeros;

	return stapy_word_ends(word, &zeros);
}

/* Characters of a word that has zeros behind them. */
static __always_inline unsigned int stapy_word_length(u64 word)
{
	return (fls64(word) + 7) / 8;
}
#else
static inline u64 stapy_word_of(const char *s, size_t most, bool *end)
{
	char text[STAPY_WORD] = "";
	unsigned int i;
	u64 word;

	for (i = 0; i < STAPY_WORD && i < most && s[i]; i++)
		text[i] = s[i];
	*end = i < STAPY_WORD;
	memcpy(&word, text, sizeof(word));
	return word;
}

static inline bool stapy_word_full(const char *s, size_t most, u64 *word)
{
	bool end;

	*word = stapy_word_of(s, most, &end);
	return !end;
}

static inline unsigned int stapy_word_length(u64 word)
{
	return strnlen((const char *)&word, sizeof(word));
}

static inline bool stapy_word_is_last(u64 word)
{
	return stapy_word_length(word) < STAPY_WORD;
}
#endif

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings of the script language. */
#include "internal.h"
#include "words.h"

/* The other way would read what it has written. */
static noinline size_t copy_upwards(char *to, const char *from, size_t bytes)
{
	size_t n = strnlen(from, bytes - 1);

	memmove(to, from, n);
	to[n] = '\0';
	return n;
}

size_t stapy_copy(char *to, const char *from, size_t bytes)
{
	size_t n, left;
	bool end;
	u64 word;

	if (!bytes)
		return 0;
	if (unlikely(to > from && to - from < bytes))
		return copy_upwards(to, from, bytes);
	for (n = 0; ; n += sizeof(word)) {
		left = bytes - n;
		word = stapy_word_of(from + n, left - 1, &end);
		if (unlikely(left < sizeof(word)))
			break;
		memcpy(to + n, &word, sizeof(word));
		if (end)
			return n + stapy_word_length(word);
	}
	memcpy(to + n, &word, left);
	return n + stapy_word_length(word);
}

size_t stapy_concat(char *to, const char *a, const char *b, size_t bytes)
{
	size_t n = strnlen(a, bytes - 1), more = strnlen(b, bytes - 1 - n);

	/* The second part first: to may be b as well. */
	memmove(to + n, b, more);
	if (to != a)
		memmove(to, a, n);
	to[n + more] = '\0';
	return n + more;
}

int stapy_compare(const char *a, const char *b)
{
	return strcmp(a, b);
}

size_t stapy_escape_byte(char *to, unsigned char ch)
{
	static const char letters[] = "a\ab\bt\tn\nv\vf\fr\r\"\"\\\\";
	unsigned int i;

	for (i = 0; i < sizeof(letters) - 1; i += 2) {
		if (letters[i + 1] == ch) {
			to[0] = '\\';
			to[1] = letters[i];
			return 2;
		}
	}
	if (ch >= ' ' && ch <= '~') {
		to[0] = ch;
		return 1;
	}
	to[0] = '\\';
	to[1] = '0' + (ch >> 6);
	to[2] = '0' + (ch >> 3 & 7);
	to[3] = '0' + (ch & 7);
	return 4;
}

size_t stapy_quote(char *to, size_t bytes, const char *from, size_t length, bool cut)
{
	/* behind the text: the quote, three dots, NUL */
	size_t room = bytes > 6 ? bytes - 5 : 0, n = 0, i;
	char piece[4];

	if (!room) {
		if (bytes)
			*to = '\0';
		return 0;
	}
	to[n++] = '"';
	for (i = 0; i < length && from[i]; i++) {
		size_t more = stapy_escape_byte(piece, from[i]);

		if (n + more > room) {
			cut = true;
			break;
		}
		memcpy(to + n, piece, more);
		n += more;
	}
	to[n++] = '"';
	if (cut) {
		memcpy(to + n, "...", 3);
		n += 3;
	}
	to[n] = '\0';
	return n;
}

size_t stapy_json_text(char *to, size_t bytes, const char *text)
{
	static const char digits[] = "0123456789abcdef", plain[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
	const unsigned char *from = (const unsigned char *)text;
	char *start = to, *end = to + bytes - sizeof("\"");
	char *whole;

	*to++ = '"';
	whole = to;
	for (; *from; from++) {
		const char *known = strchr(plain, *from);
		unsigned int needed = known ? 2 : *from < ' ' ? 6 : 1;

		if ((*from & 0xc0) != 0x80)
			whole = to;
		if (to + needed > end) {
			to = whole;
			break;
		}
		if (known) {
			*to++ = '\\';
			*to++ = letters[known - plain];
		} else if (*from < ' ') {
			memcpy(to, "\\u00", 4);
			to[4] = digits[*from >> 4];
			to[5] = digits[*from & 15];
			to += 6;
		} else {
			*to++ = *from;
		}
	}
	*to++ = '"';
	*to = '\0';
	return to - start;
}

#define ADDRESS_BYTES 19			/* 0x, sixteen digits and a blank */
#define EACH 0x0101010101010101ULL

/* Eight digits at once, in the order of memory. */
static __always_inline u64 eight_digits(u32 value)
{
	u64 x = value;

	x = (x | x << 16) & 0x0000ffff0000ffffULL;
	x = (x | x << 8) & 0x00ff00ff00ff00ffULL;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fULL;
	/* The letters do not follow the digits. */
	return cpu_to_be64(x + '0' * EACH + ((x + 6 * EACH) >> 4 & EACH) * ('a' - '0' - 10));
}

/* Callers are mostly near each other: what addresses begin with is written again. */
struct hex_begin {
	u32 value;
	u64 digits;
};

#define HEX_BEGIN ((struct hex_begin){ 0, '0' * EACH })

/* Writes ADDRESS_BYTES at most, some behind what counts; where the next one goes. */
static __always_inline char *put_address(char *to, unsigned long address, struct hex_begin *begin)
{
	unsigned int digits = (__fls(address | 1) >> 2) + 1;
	u64 left = (u64)address << (64 - 4 * digits), more = eight_digits(left);

	if (left >> 32 != begin->value)
		*begin = (struct hex_begin){ left >> 32, eight_digits(left >> 32) };
	to[0] = '0';
	to[1] = 'x';
	memcpy(to + 2, &begin->digits, 8);
	memcpy(to + 10, &more, 8);
	to[2 + digits] = ' ';
	return to + 3 + digits;
}

bool stapy_addresses_text(char *to, size_t bytes, const unsigned long *stack, unsigned int n,
			  bool blank_behind)
{
	char *start = to, *last = to + bytes - 1, text[ADDRESS_BYTES];
	struct hex_begin begin = HEX_BEGIN;
	size_t length;

	for (; n && last - to >= ADDRESS_BYTES; n--)
		to = put_address(to, *stack++, &begin);
	for (; n; n--, to += length) {
		length = put_address(text, *stack++, &begin) - text;
		if (length > last - to)
			break;
		memcpy(to, text, length);
	}
	if (to > start && !blank_behind)
		to--;
	*to = '\0';
	return !n;
}

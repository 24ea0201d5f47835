// SPDX-License-Identifier: GPL-2.0-or-later
/* Formatting: the conversions of printf, straight into the sink. */
#include "internal.h"
#include "words.h"

#define DIGITS 66			/* of a 64-bit number in any base, sign and prefix */
#define DECIMALS 20			/* in base 10, with a sign */
#define MEMORY_CHUNK 64

void stapy_out_piece(struct stapy_out *o, const char *text, size_t length)
{
	size_t room = o->end - o->at;

	if (unlikely(length > room))
		room = stapy_print_room(o, length);
	if (unlikely(length > room)) {
		o->lost += length - room;
		length = room;
	}
	memcpy(o->at, text, length);
	o->at += length;
}

void stapy_out_pad(struct stapy_out *o, char with, int n)
{
	size_t room = o->end - o->at, wanted;

	if (n <= 0)
		return;
	wanted = n;
	if (unlikely(wanted > room))
		room = stapy_print_room(o, wanted);
	if (unlikely(wanted > room)) {
		o->lost += wanted - room;
		wanted = room;
	}
	memset(o->at, with, wanted);
	o->at += wanted;
}

/* By words, for most strings are short; what is behind the end of a word is written over. */
void stapy_out_plain(struct stapy_out *o, const char *s)
{
	char *at = o->at;
	bool end;

	while (likely((size_t)(o->end - at) >= STAPY_WORD)) {
		u64 word = stapy_word_of(s, STAPY_WORD, &end);

		memcpy(at, &word, sizeof(word));
		if (end) {
			o->at = at + stapy_word_length(word);
			return;
		}
		at += sizeof(word);
		s += sizeof(word);
	}
	o->at = at;
	stapy_out_piece(o, s, strlen(s));
}

void stapy_out_field(struct stapy_out *o, const char *s, unsigned int flags, int width,
		     int precision)
{
	size_t n = precision >= 0 ? strnlen(s, precision) : strlen(s);
	int blanks = width > 0 && n < width ? width - n : 0;

	if (!(flags & STAPY_F_LEFT))
		stapy_out_pad(o, ' ', blanks);
	stapy_out_text(o, s, n);
	if (flags & STAPY_F_LEFT)
		stapy_out_pad(o, ' ', blanks);
}

/* Two digits of each number below 100. */
static const char pairs[] =
	"0001020304050607080910111213141516171819" "2021222324252627282930313233343536373839"
	"4041424344454647484950515253545556575859" "6061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static __always_inline void put_pair(char *to, u32 value)
{
	memcpy(to, pairs + 2 * value, 2);
}

/* Decimal digits of value before end; the first one is returned. */
static char *put_decimal(char *end, u64 value)
{
	u32 low;

	/* Most numbers are small: 32-bit divisions by a constant are multiplications. */
	while (value > U32_MAX) {
		u64 rest = value;

		value = div64_u64(value, 100);
		end -= 2;
		put_pair(end, rest - value * 100);
	}
	for (low = value; low >= 100; low /= 100) {
		end -= 2;
		put_pair(end, low % 100);
	}
	if (low >= 10) {
		end -= 2;
		put_pair(end, low);
	} else {
		*--end = '0' + low;
	}
	return end;
}

/* One or two digits of a number below 100; what is behind them is returned. */
static __always_inline char *put_short(char *to, u32 value)
{
	if (value < 10) {
		*to = '0' + value;
		return to + 1;
	}
	put_pair(to, value);
	return to + 2;
}

static noinline void out_large(struct stapy_out *o, s64 value)
{
	char buffer[DECIMALS], *end = buffer + sizeof(buffer), *first;

	first = put_decimal(end, value < 0 ? -(u64)value : value);
	if (value < 0)
		*--first = '-';
	stapy_out_piece(o, first, end - first);
}

void stapy_out_decimal(struct stapy_out *o, s64 value)
{
	u32 high = (u32)value / 100;
	char *at = o->at;

	if (unlikely((u64)value >= 10000 || o->end - at < 4)) {
		out_large(o, value);
	} else if (high) {
		at = put_short(at, high);
		put_pair(at, (u32)value % 100);
		o->at = at + 2;
	} else {
		o->at = put_short(at, value);
	}
}

void stapy_out_unsigned(struct stapy_out *o, u64 value)
{
	if (likely((s64)value >= 0))
		stapy_out_decimal(o, value);
	else
		stapy_out_number(o, value, 'u', 0, 0, -1);
}

/* Digits of value before end; the first one is returned. */
static char *put_digits(char *end, u64 value, unsigned int base, const char *digits)
{
	if (base == 10) {
		end = put_decimal(end, value);
	} else {
		unsigned int shift = base == 16 ? 4 : 3;

		do {
			*--end = digits[value & (base - 1)];
			value >>= shift;
		} while (value);
	}
	return end;
}

void stapy_out_number(struct stapy_out *o, s64 value, char conversion, unsigned int flags, int width,
		      int precision)
{
	bool is_signed = conversion == 'd' || conversion == 'i';
	bool upper = conversion == 'X';
	unsigned int base = is_signed || conversion == 'u' ? 10 : conversion == 'o' ? 8 : 16;
	char buffer[DIGITS], prefix[3], *end = buffer + sizeof(buffer), *first;
	int sign_length = 0, zeros, blanks;
	u64 v = value;

	if (is_signed) {
		if (value < 0) {
			v = -(u64)value;
			prefix[sign_length++] = '-';
		} else if (flags & (STAPY_F_PLUS | STAPY_F_SPACE)) {
			prefix[sign_length++] = flags & STAPY_F_PLUS ? '+' : ' ';
		}
	}
	if ((flags & STAPY_F_ALT || conversion == 'p') && base != 10) {
		prefix[sign_length++] = '0';
		if (base == 16)
			prefix[sign_length++] = upper ? 'X' : 'x';
	}
	first = put_digits(end, v, base, upper ? "0123456789ABCDEF" : "0123456789abcdef");
	zeros = precision - (int)(end - first);
	if (zeros < 0)
		zeros = 0;
	blanks = width - sign_length - zeros - (int)(end - first);
	if (blanks > 0 && flags & STAPY_F_ZERO && !(flags & STAPY_F_LEFT)) {
		zeros += blanks;
		blanks = 0;
	}
	if (!(flags & STAPY_F_LEFT))
		stapy_out_pad(o, ' ', blanks);
	if (sign_length)
		stapy_out_text(o, prefix, sign_length);
	stapy_out_pad(o, '0', zeros);
	stapy_out_text(o, first, end - first);
	if (flags & STAPY_F_LEFT)
		stapy_out_pad(o, ' ', blanks);
}

/* %#c: what cannot be printed as C writes it. */
static int visible(char *to, unsigned char ch)
{
	static const char letters[] = "a\ab\bt\tn\nv\vf\fr\r\"\"''\\\\";
	unsigned int i;

	for (i = 0; i < sizeof(letters) - 1; i += 2)
		if (letters[i + 1] == ch)
			return sprintf(to, "\\%c", letters[i]);
	return sprintf(to, ch >= ' ' && ch <= '~' ? "%c" : "\\%03o", ch);
}

void stapy_out_char(struct stapy_out *o, s64 value, unsigned int flags, int width)
{
	char text[8];
	int n = 1;

	text[0] = value;
	if (flags & STAPY_F_ALT)
		n = visible(text, value);
	if (!(flags & STAPY_F_LEFT))
		stapy_out_pad(o, ' ', width - n);
	stapy_out_text(o, text, n);
	if (flags & STAPY_F_LEFT)
		stapy_out_pad(o, ' ', width - n);
}

/* Bytes that %b can write; 0 for none of them. */
static int binary_size(int n)
{
	return n == 1 || n == 2 || n == 4 || n == 8 ? n : 0;
}

void stapy_out_binary(struct stapy_out *o, s64 value, unsigned int flags, int width, int precision)
{
	int size = binary_size(precision) ?: binary_size(width) ?: 8;
	union {
		u8 one;
		u16 two;
		u32 four;
		u64 eight;
	} v;

	if (!(flags & STAPY_F_LEFT))
		stapy_out_pad(o, '\0', width - size);
	switch (size) {
	case 1:
		v.one = value;
		break;
	case 2:
		v.two = value;
		break;
	case 4:
		v.four = value;
		break;
	default:
		v.eight = value;
		break;
	}
	stapy_out_text(o, (char *)&v, size);
	if (flags & STAPY_F_LEFT)
		stapy_out_pad(o, '\0', width - size);
}

static void out_hex(struct stapy_out *o, const u8 *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		stapy_out_text(o, (char []){ hex_asc_hi(bytes[i]), hex_asc_lo(bytes[i]) }, 2);
}

bool stapy_out_memory(struct stapy_context *c, struct stapy_out *o, unsigned long address, bool hex,
		      unsigned int flags, int width, int length, const char *place)
{
	size_t left = length < 0 ? 1 : min_t(size_t, length, PAGE_SIZE);
	int blanks = width - (int)(hex ? 2 * left : left);
	u8 chunk[MEMORY_CHUNK];

	if (!(flags & STAPY_F_LEFT))
		stapy_out_pad(o, ' ', blanks);
	while (left) {
		size_t n = min_t(size_t, left, sizeof(chunk));

		if (!(flags & STAPY_F_ALT ? stapy_read_user(c, chunk, address, n, place) :
		      stapy_read_kernel(c, chunk, address, n, place)))
			return false;
		if (hex)
			out_hex(o, chunk, n);
		else
			stapy_out_text(o, (char *)chunk, n);
		address += n;
		left -= n;
	}
	if (flags & STAPY_F_LEFT)
		stapy_out_pad(o, ' ', blanks);
	return true;
}

void stapy_vprintf(struct stapy_context *c, const char *fmt, va_list args)
{
	struct stapy_out *o = stapy_print_begin(c);
	size_t room = o->end - o->at;
	va_list again;
	size_t n;

	/* vsnprintf also writes a NUL, for which the ring keeps its spare bytes. */
	va_copy(again, args);
	n = room ? vsnprintf(o->at, room + 1, fmt, args) : 0;
	if (n > room) {
		room = stapy_print_room(o, n);
		n = vsnprintf(o->at, room + 1, fmt, again);
	}
	va_end(again);
	if (!room || n > room)
		o->lost += room ? n - room : strlen(fmt);
	o->at += min(n, room);
	stapy_print_end(c);
}

void stapy_printf(struct stapy_context *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	stapy_vprintf(c, fmt, args);
	va_end(args);
}

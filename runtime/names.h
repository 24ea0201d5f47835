/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as names: flags and enumerations, by tables. */
#ifndef STAPY_NAMES_H
#define STAPY_NAMES_H

struct stapy_name {
	u64 value;
	const char *name;
};

/* A row whose name is the constant's own. */
#define STAPY_NAME(constant) { constant, #constant }

/*
 * Names of the bits of value, joined by "|" and cut to bytes - 1 characters. Rows
 * count in order; one of several bits matches when all of them are set. Bits
 * without a name follow in hex. zero is the text for 0, or NULL for "0x0".
 */
void stapy_flag_names(char *to, size_t bytes, u64 value, const struct stapy_name *rows,
		      unsigned int count, const char *zero);
/* Name of value; the number by form (such as "%lld") when it has none. */
void stapy_value_name(char *to, size_t bytes, s64 value, const struct stapy_name *rows,
		      unsigned int count, const char *form);

/* Bodies of embedded functions that give the names of a value. */
#define STAPY_FLAG_TEXT(value, zero, ...)						\
	do {									\
		static const struct stapy_name _rows[] = { __VA_ARGS__ };	\
		stapy_flag_names(STAP_RETVALUE, MAXSTRINGLEN, value, _rows,	\
				 ARRAY_SIZE(_rows), zero);			\
	} while (0)
#define STAPY_VALUE_TEXT(value, form, ...)						\
	do {									\
		static const struct stapy_name _rows[] = { __VA_ARGS__ };	\
		stapy_value_name(STAP_RETVALUE, MAXSTRINGLEN, value, _rows,	\
				 ARRAY_SIZE(_rows), form);			\
	} while (0)

#endif

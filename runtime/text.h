/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the script language: NUL-terminated, cut at the size of their buffer. */
#ifndef STAPY_TEXT_H
#define STAPY_TEXT_H

/*
 * Copy, cut to bytes - 1 characters; to and from may overlap. Length of the
 * result; what lies behind it in the buffer may change.
 */
size_t stapy_copy(char *to, const char *from, size_t bytes);
/* to = a . b; to may be a. */
size_t stapy_concat(char *to, const char *a, const char *b, size_t bytes);
/* <0, 0, >0 */
int stapy_compare(const char *a, const char *b);
/* The escape of one character, or the character, without a NUL: at most 4 bytes. Their number. */
size_t stapy_escape_byte(char *to, unsigned char ch);
/* Append text quoted as user_string_quoted() does: "…" with escapes, "..." after it when cut. */
size_t stapy_quote(char *to, size_t bytes, const char *from, size_t length, bool cut);
/*
 * A text in quotes as JSON has it, of at most bytes - 1 characters; what there is no room for is left out,
 * whole characters and not quotes. Its length; there is room for the quotes at least.
 */
size_t stapy_json_text(char *to, size_t bytes, const char *text);
/*
 * Addresses in hex with a blank between them, and behind the last one if wanted: as many as fit.
 * True when all did.
 */
bool stapy_addresses_text(char *to, size_t bytes, const unsigned long *addresses, unsigned int n,
			  bool blank_behind);

/* Name of a task, which may change meanwhile. */
static __always_inline void stapy_copy_comm(char *to, const struct task_struct *task, size_t bytes)
{
	if (bytes < TASK_COMM_LEN) {
		stapy_copy(to, task->comm, bytes);
		return;
	}
	memcpy(to, task->comm, TASK_COMM_LEN);
	to[TASK_COMM_LEN - 1] = '\0';
}

#endif

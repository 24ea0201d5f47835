// SPDX-License-Identifier: GPL-2.0-or-later
/* Regular expressions: walking the translator's tables. */
#include "stapy.h"

bool stapy_regex_search(const struct stapy_regex *r, const char *text)
{
	unsigned int state = 1;

	for (; state; text++) {
		if (r->accept[state] & 1)
			return true;
		if (!*text)
			return r->accept[state] & 2;
		state = r->next[state * r->nclasses + r->classes[(u8)*text]];
	}
	return false;
}

static void move_registers(s16 *registers, const u8 *command, int at)
{
	for (; command[0] != 0xff; command += 2)
		registers[command[0]] = command[1] == 0xfe ? at : registers[command[1]];
}

static int border(const s16 *registers, u8 tag, int at)
{
	if (tag == 0xff)
		return -1;
	return tag == 0xfe ? at : registers[tag];
}

static void remember(struct stapy_match *m, const struct stapy_regex *r, const s16 *registers,
		     const u8 *tags, int at)
{
	int i;

	m->groups = r->groups;
	for (i = 0; i <= r->groups && i < STAPY_REGEX_GROUPS; i++) {
		m->from[i] = border(registers, tags[2 * i], at);
		m->to[i] = border(registers, tags[2 * i + 1], at);
	}
}

bool stapy_regex_match(struct stapy_context *c, const struct stapy_regex *r, const char *text)
{
	struct stapy_match *m = c->regex;
	s16 registers[STAPY_REGEX_REGISTERS];
	unsigned int state = 1, step;
	bool found = false;
	int at;

	if (!m || !r->moves)
		return stapy_regex_search(r, text);
	memset(registers, 0xff, sizeof(registers));
	move_registers(registers, r->commands + r->start_moves, 0);
	for (at = 0; state; at++) {
		bool end = !text[at];
		u8 accept = r->accept[state];

		if (accept & 1 || (end && accept & 2)) {
			const u16 *where = end && accept & 2 ? r->ends : r->finals;

			remember(m, r, registers, r->tags + where[state], at);
			found = true;
		}
		if (end)
			break;
		step = state * r->nclasses + r->classes[(u8)text[at]];
		move_registers(registers, r->commands + r->moves[step], at + 1);
		state = r->next[step];
	}
	if (found)
		stapy_copy(m->text, text, stapy_session.limits.maxstringlen);
	return found;
}

bool stapy_matched(struct stapy_context *c, char *to, size_t bytes, s64 n)
{
	const struct stapy_match *m = c->regex;
	size_t length;

	if (!m || n < 0 || n > m->groups || n >= STAPY_REGEX_GROUPS)
		return false;
	if (m->from[n] < 0 || m->to[n] < m->from[n]) {
		*to = '\0';	/* a group that took no part */
		return true;
	}
	length = min_t(size_t, m->to[n] - m->from[n], bytes - 1);
	memcpy(to, m->text + m->from[n], length);
	to[length] = '\0';
	return true;
}

s64 stapy_ngroups(struct stapy_context *c)
{
	const struct stapy_match *m = c->regex;

	return m && m->groups >= 0 ? m->groups + 1 : 0;
}

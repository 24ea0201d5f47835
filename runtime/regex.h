/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions: a walk over tables that the translator made. */
#ifndef STAPY_REGEX_H
#define STAPY_REGEX_H

#define STAPY_REGEX_REGISTERS 64
#define STAPY_REGEX_GROUPS 16		/* the whole match and 15 more */

/*
 * State 0 is dead, 1 is the start. accept: bit 0 a match ends here, bit 1 a
 * match ends here when the text does. The rest is for groups: moves[] gives
 * for each transition an offset into commands[], pairs of (to, from) registers
 * that 0xff ends; from 0xfe is the present position. finals[] and ends[] give
 * for each accepting state where in tags[] the registers of the borders are.
 */
struct stapy_regex {
	const u8 *classes;
	const u16 *next;
	const u8 *accept;
	u16 nclasses;
	u16 start_moves;
	const u16 *moves;
	const u8 *commands;
	const u16 *finals;
	const u16 *ends;
	const u8 *tags;
	u8 groups;
};

/* What matched() reads: c->regex points to one in the handler's frame. */
struct stapy_match {
	s16 groups;			/* -1: nothing has matched yet */
	s16 from[STAPY_REGEX_GROUPS];
	s16 to[STAPY_REGEX_GROUPS];
	char text[];			/* maxstringlen bytes: the text that matched */
};

/* From here on this hit remembers its last match; nothing has matched yet. */
static inline void stapy_remember_match(struct stapy_context *c, struct stapy_match *m)
{
	m->groups = -1;
	c->regex = m;
	c->eventful = true;
}

bool stapy_regex_search(const struct stapy_regex *r, const char *text);
/* The same, and a match is remembered in c->regex. */
bool stapy_regex_match(struct stapy_context *c, const struct stapy_regex *r, const char *text);

/* matched(n): 0 is all that matched. False when there is no such group. */
bool stapy_matched(struct stapy_context *c, char *to, size_t bytes, s64 n);
/* ngroups() of the last match, the whole one counted; 0 without a match. */
s64 stapy_ngroups(struct stapy_context *c);

#endif

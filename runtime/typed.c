// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints as records (--format): which print it is, its fields in binary, then its text. */
#include "internal.h"

static void out_u32(struct stapy_out *o, u32 value)
{
	stapy_out_text(o, (char *)&value, sizeof(value));
}

struct stapy_out *stapy_typed_begin(struct stapy_context *c, u32 number)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	struct stapy_out *o = stapy_print_begin(c);

	/* The record began as text; one that had no room for even this is dropped at its end. */
	if (o->at > cpu->record)
		*cpu->record = STAPY_PRINT_TYPED;
	out_u32(o, number);
	out_u32(o, c->site->probe - stapy_session.probes);
	return o;
}

void stapy_typed_long(struct stapy_out *o, s64 value)
{
	stapy_out_text(o, (char *)&value, sizeof(value));
}

void stapy_typed_string(struct stapy_out *o, const char *s)
{
	stapy_out_text(o, s, strlen(s) + 1);
}

bool stapy_typed_memory(struct stapy_context *c, struct stapy_out *o, unsigned long address, unsigned int flags,
			int length, const char *place)
{
	u32 n = length < 0 ? 1 : min_t(size_t, length, PAGE_SIZE);

	out_u32(o, n);
	return stapy_out_memory(c, o, address, false, flags & STAPY_F_ALT, 0, n, place);
}

void stapy_typed_stat(struct stapy_out *o, const struct stapy_stat *s, const struct stapy_stat_shape *shape)
{
	static const struct stapy_stat nothing;
	unsigned int i, n = 0;

	if (!s || !s->count)
		s = &nothing;
	stapy_typed_long(o, s->count);
	stapy_typed_long(o, s->sum);
	stapy_typed_long(o, s->min);
	stapy_typed_long(o, s->max);
	for (i = 0; s->count && i < shape->buckets; i++)
		n += !!s->histogram[i];
	out_u32(o, n);
	for (i = 0; n && i < shape->buckets; i++) {
		if (!s->histogram[i])
			continue;
		out_u32(o, i);
		stapy_typed_long(o, s->histogram[i]);
	}
}

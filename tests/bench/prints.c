// SPDX-License-Identifier: GPL-2.0-or-later
/* A line of a name and a number, printed, committed and read: each function is counted by callgrind. */
#include "internal.h"
struct stapy_session stapy_session;
struct stapy_cpu *stapy_cpus;

static char text[65536];

static noinline void handler(struct stapy_context *c, const char *name, s64 pid)
{
	struct stapy_out *o = stapy_print_begin(c);

	stapy_out_string(o, name, 0, 0, -1);
	stapy_out_text(o, " ", 1);
	stapy_out_long(o, pid, 'd', 0, 0, -1);
	stapy_out_text(o, "\n", 1);
	stapy_print_end(c);
}

int main(void)
{
	struct stapy_context *c;
	bool more;
	int i;

	stapy_cpus = aligned_alloc(64, CPUS * sizeof(*stapy_cpus));
	memset(stapy_cpus, 0, CPUS * sizeof(*stapy_cpus));
	stapy_session.limits.buffer_bytes = 2 << 20;
	stapy_rings_size();
	stapy_rings_alloc();
	c = &stapy_cpus[0].c;
	for (i = 0; i < LINES; i++) {
		handler(c, "hits", 1234);
		stapy_ring_commit(c);
		c->printed = false;
		if (i % 100 == 99)
			stapy_rings_read(text, sizeof(text), &more);
	}
	return 0;
}

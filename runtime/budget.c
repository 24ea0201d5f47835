// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory for what a script may make as large as it likes: asked for politely, added up before. */
#include "internal.h"
#include "transport/control.h"

#define PARTS 4				/* the largest, which a complaint names */
#define PARTS_BYTES 256
#define LEFT_FREE 8			/* so many parts of what is free, one is left to others */

struct part {
	const char *kind, *name;
	u64 bytes;
};

void *stapy_alloc_node(size_t bytes, int node)
{
	/* kvmalloc() has a bound, vmalloc() takes no node. */
	if (bytes <= INT_MAX)
		return kvmalloc_node(bytes, STAPY_GFP | __GFP_ZERO, node);
	return __vmalloc(bytes, STAPY_GFP | __GFP_ZERO);
}

void *stapy_alloc(size_t count, size_t bytes)
{
	size_t all;

	if (check_mul_overflow(count, bytes, &all))
		return NULL;
	return stapy_alloc_node(all, NUMA_NO_NODE);
}

u64 stapy_memory_free(void)
{
	return (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
}

bool stapy_memory_allows(u64 bytes)
{
	u64 available = stapy_memory_free();

	return bytes <= available - available / LEFT_FREE;
}

/* Keep the largest ones, the first of all first. */
static u64 count(struct part *parts, struct part new)
{
	u64 bytes = new.bytes;
	unsigned int i;

	for (i = 0; i < PARTS; i++)
		if (new.bytes > parts[i].bytes)
			swap(parts[i], new);
	return bytes;
}

static u64 add_up(struct part *parts)
{
	const struct stapy_session *s = &stapy_session;
	u64 all = 0;
	unsigned int i;

	for (i = 0; i < s->nr_storage; i++) {
		const struct stapy_storage *row = &s->storage[i];

		all += count(parts, (struct part){ row->map ? "array" : "statistic", row->name,
						   stapy_storage_bytes(row) });
	}
	all += count(parts, (struct part){ "output", "buffers",
					   (u64)stapy_ring_bytes() * num_online_cpus() });
	return all + count(parts, (struct part){ "strings", "of functions and handlers",
						 (u64)s->frame_bytes * num_possible_cpus() });
}

static unsigned long long megabytes(u64 bytes)
{
	return DIV_ROUND_UP_ULL(bytes, SZ_1M);
}

static void complain(const struct part *parts, u64 all)
{
	char text[PARTS_BYTES];
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < PARTS && parts[i].bytes; i++)
		n += scnprintf(text + n, sizeof(text) - n, "%s %s '%s' %llu MB", i ? "," : "",
			       parts[i].kind, parts[i].name, megabytes(parts[i].bytes));
	text[n] = '\0';
	stapy_control("error",
		      "not enough memory: the script needs %llu MB and %llu MB are free. The largest parts are%s. Make arrays smaller (global NAME[SIZE], -D MAXMAPENTRIES=N), strings shorter (-D MAXSTRINGLEN=N) or buffers smaller (-s MB)",
		      megabytes(all), megabytes(stapy_memory_free()), text);
}

u64 stapy_budget_total(void)
{
	struct part parts[PARTS] = { };

	return add_up(parts);
}

int stapy_budget_check(void)
{
	struct part parts[PARTS] = { };
	u64 all = add_up(parts);

	if (stapy_memory_allows(all))
		return 0;
	complain(parts, all);
	return -ENOMEM;
}

void stapy_budget_complain(void)
{
	struct part parts[PARTS] = { };
	u64 all = add_up(parts);

	complain(parts, all);
}

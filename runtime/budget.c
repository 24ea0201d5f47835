// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory for what a script may make as large as it likes: asked for politely, added up before. */
#include "internal.h"
#include "transport/control.h"
#include "compat/linux/module.h"

#define PARTS 4				/* the largest, which a complaint names */
#define TOLD 16				/* those that are told by themselves to who asks for all */
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

/* Keep the largest ones, the first of all first; what there is no place for is the `others`. */
struct parts {
	unsigned int most, others;
	struct part *largest;
	u64 bytes, others_bytes;
};

static void count(struct parts *parts, struct part new)
{
	unsigned int i;

	parts->bytes += new.bytes;
	for (i = 0; i < parts->most; i++)
		if (new.bytes > parts->largest[i].bytes)
			swap(parts->largest[i], new);
	if (!new.bytes)
		return;
	parts->others++;
	parts->others_bytes += new.bytes;
}

static void add_up(struct parts *parts)
{
	const struct stapy_session *s = &stapy_session;
	unsigned int i;

	for (i = 0; i < s->nr_storage; i++) {
		const struct stapy_storage *row = &s->storage[i];

		count(parts, (struct part){ row->map ? "array" : "statistic", row->name,
					    stapy_storage_bytes(row) });
	}
	count(parts, (struct part){ "output", "buffers", (u64)stapy_ring_bytes() * num_online_cpus() });
	count(parts, (struct part){ "strings", "of functions and handlers",
				    (u64)s->frame_bytes * num_possible_cpus() });
}

static unsigned long long megabytes(u64 bytes)
{
	return DIV_ROUND_UP_ULL(bytes, SZ_1M);
}

static void complain(const struct parts *parts, u64 needed, u64 bound, const char *what)
{
	char text[PARTS_BYTES];
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < parts->most && parts->largest[i].bytes; i++)
		n += scnprintf(text + n, sizeof(text) - n, "%s %s '%s' %llu MB", i ? "," : "",
			       parts->largest[i].kind, parts->largest[i].name,
			       megabytes(parts->largest[i].bytes));
	text[n] = '\0';
	stapy_control("error",
		      "not enough memory: the script needs %llu MB and %llu %s. The largest parts are%s. Make arrays smaller (global NAME[SIZE], -D MAXMAPENTRIES=N), strings shorter (-D MAXSTRINGLEN=N) or buffers smaller (-s MB)",
		      megabytes(needed), bound, what, text);
}

u64 stapy_budget_total(void)
{
	struct parts parts = { };

	add_up(&parts);
	return parts.bytes;
}

int stapy_budget_check(void)
{
	struct part largest[PARTS] = { };
	struct parts parts = { .most = PARTS, .largest = largest };
	u64 allowed = (u64)stapy_session.limits.max_kilobytes << 10;
	u64 with_module;

	add_up(&parts);
	with_module = parts.bytes + stapy_module_bytes(THIS_MODULE);
	if (allowed && with_module > allowed)
		complain(&parts, with_module, allowed >> 10, "KiB are allowed (STP_MAXMEMORY)");
	else if (!stapy_memory_allows(parts.bytes))
		complain(&parts, parts.bytes, megabytes(stapy_memory_free()), "MB are free");
	else
		return 0;
	return -ENOMEM;
}

void stapy_budget_complain(void)
{
	struct part largest[PARTS] = { };
	struct parts parts = { .most = PARTS, .largest = largest };

	add_up(&parts);
	complain(&parts, parts.bytes, megabytes(stapy_memory_free()), "MB are free");
}

void stapy_budget_tell(void)
{
	struct part *largest = kcalloc(TOLD, sizeof(*largest), GFP_KERNEL);
	struct parts parts = { .most = largest ? TOLD : 0, .largest = largest };
	unsigned int i;

	add_up(&parts);
	stapy_control("memory", "%llu\tmodule\t%s", stapy_module_bytes(THIS_MODULE), THIS_MODULE->name);
	for (i = 0; i < parts.most && largest[i].bytes; i++)
		stapy_control("memory", "%llu\t%s\t%s", largest[i].bytes, largest[i].kind,
			      largest[i].name);
	if (parts.others)
		stapy_control("memory", "%llu\tothers\t%u", parts.others_bytes, parts.others);
	kfree(largest);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks at the address space of the current process, and the family that has their memory. Nothing
 * sleeps and nothing waits.
 */
#include "../internal.h"
#include "../transport/control.h"
#include "look.h"
#include "maplock.h"
#include "unwind.h"

static struct stapy_look_kept *__percpu *all;
static atomic_t cut_by_lock = ATOMIC_INIT(0), cut_by_object = ATOMIC_INIT(0);
static char cut_object[40];

struct stapy_look_kept *stapy_look_begin(struct stapy_context *c, struct stapy_look *look)
{
	struct stapy_look_kept *kept;

	memset(look, 0, sizeof(*look));
	if (!all || (stapy_session.limits.unprivileged && !stapy_is_myproc()))
		return NULL;
	kept = *this_cpu_ptr(all);
	if (kept->hit != c->number || kept->mm != current->mm) {
		kept->hit = c->number;
		c->eventful = true;
		kept->mm = current->mm;
		kept->walked = false;
		kept->depth = 0;
		kept->nr_ranges = 0;
	}
	look->kept = kept;
	look->may_lock = stapy_maps_lockable(c);
	return kept;
}

void stapy_look_end(struct stapy_look *look)
{
	if (look->locked)
		mmap_read_unlock(current->mm);
}

static bool lock_maps(struct stapy_look *look)
{
	if (look->locked)
		return true;
	look->locked = look->may_lock && stapy_maps_trylock();
	if (look->locked)
		return true;
	look->may_lock = false;
	if (look->walks)
		atomic_inc(&cut_by_lock);
	return false;
}

const struct stapy_user_range *stapy_look_range(struct stapy_look *look, unsigned long address)
{
	struct stapy_look_kept *kept = look->kept;
	struct stapy_user_range *range;
	unsigned int i;

	for (i = 0; i < kept->nr_ranges; i++)
		if (address - kept->ranges[i].start < kept->ranges[i].end - kept->ranges[i].start)
			return &kept->ranges[i];
	if (!lock_maps(look))
		return NULL;
	if (kept->nr_ranges < STAPY_LOOK_RANGES)
		i = kept->nr_ranges;
	else
		i = kept->next_range++ % STAPY_LOOK_RANGES;
	range = &kept->ranges[i];
	if (!stapy_user_range_find(address, range)) {
		range->start = range->end = 0;
		return NULL;
	}
	if (i == kept->nr_ranges)
		kept->nr_ranges++;
	return range;
}

void stapy_look_unknown(const struct stapy_user_range *range)
{
	if (!atomic_fetch_inc(&cut_by_object))
		strscpy(cut_object, range->name, sizeof(cut_object));
}

/* --- the family --- */

static void free_all(void)
{
	int cpu;

	if (!all)
		return;
	for_each_possible_cpu(cpu)
		kvfree(*per_cpu_ptr(all, cpu));
	free_percpu(all);
	all = NULL;
}

/* Memory of each CPU itself ends at 32 KiB, of which the kernel warns. */
static int start(void *rows, unsigned int count)
{
	size_t bytes = sizeof(struct stapy_look_kept) + ((size_t)stapy_stack_frames + 1) * sizeof(long);
	int cpu;

	if (all)
		return 0;
	all = alloc_percpu(struct stapy_look_kept *);
	if (!all)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct stapy_look_kept *kept = stapy_alloc(1, bytes);

		if (!kept) {
			free_all();
			return -ENOMEM;
		}
		*per_cpu_ptr(all, cpu) = kept;
	}
	return 0;
}

static void stop(void *rows, unsigned int count)
{
}

static int take(void *rows, unsigned int count, const char __user *from, size_t bytes)
{
	return stapy_object_take(from, bytes);
}

/* Why stacks are shorter than they are, in the report. */
static u64 tell(void *rows, unsigned int count)
{
	int locked = atomic_xchg(&cut_by_lock, 0), unknown = atomic_xchg(&cut_by_object, 0);

	if (unknown)
		stapy_warn("%d user stacks end early, in files whose tables were not there yet "
			   "(%s); -d FILE --ldd brings them along",
			   unknown, cut_object);
	if (locked)
		stapy_warn("%d user stacks end early: the process was changing its mappings, or "
			   "the probe was hit with interrupts off", locked);
	return 0;
}

static void release(void *rows, unsigned int count)
{
	stapy_objects_free();
	free_all();
}

const struct stapy_family stapy_user_stacks = {
	.name = "user_stacks",
	.phases = true,
	.start = start,
	.stop = stop,
	.missed = tell,
	.object = take,
	.fetch = stapy_object_fetch,
	.left = stapy_objects_forget,
	.release = release,
};

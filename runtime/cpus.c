// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPUs that come while a module is loaded, or come back. The kernel would tell by a dynamic
 * hotplug state, but it has some twenty for all drivers and warns when they are used up, and
 * each session would need its own. So the timer that looks for readers compares the CPUs that
 * are there with those that were; what is found is served in process context.
 */
#include "internal.h"
#include "cpus.h"

#define SOON msecs_to_jiffies(20)
#define LATER HZ			/* one that came back between two looks is found by then */
#define QUICK_LOOKS 50

static cpumask_t known;
static unsigned long next;		/* jiffies; when to look without a change */
static unsigned int looks;		/* since the last change */
static bool watching;			/* something wants to be looked at without a change */

static bool families_complete(bool *any)
{
	const struct stapy_session *s = &stapy_session;
	bool all = true;
	unsigned int i;

	for (i = 0; i < s->nr_families; i++) {
		const struct stapy_family_rows *f = &s->families[i];

		if (!f->family->complete)
			continue;
		*any = true;
		all &= f->family->complete(f->rows, f->count);
	}
	return all;
}

static void serve(struct work_struct *unused)
{
	bool rings = stapy_rings_complete(), any = false, all = families_complete(&any);
	bool soon = !all && looks < QUICK_LOOKS;

	looks++;
	WRITE_ONCE(next, jiffies + (soon ? SOON : LATER));
	smp_store_release(&watching, any || !rings);
}

static DECLARE_WORK(work, serve);

void stapy_cpus_init(void)
{
	const struct stapy_session *s = &stapy_session;
	unsigned int i;

	cpumask_copy(&known, cpu_online_mask);
	next = jiffies + LATER;
	for (i = 0; i < s->nr_families; i++)
		watching |= !!s->families[i].family->complete;
}

void stapy_cpus_look(void)
{
	bool changed = !cpumask_equal(&known, cpu_online_mask);

	if (likely(!changed && !smp_load_acquire(&watching)))
		return;
	if (!changed && time_before(jiffies, READ_ONCE(next)))
		return;
	if (changed) {
		cpumask_copy(&known, cpu_online_mask);
		WRITE_ONCE(looks, 0);
	}
	queue_work(system_unbound_wq, &work);
}

void stapy_cpus_stop(void)
{
	cancel_work_sync(&work);
}

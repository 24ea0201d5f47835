// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that share a place. */
#include <linux/sort.h>

#include "../internal.h"
#include "fentry.h"

static int compare_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

static int compare_places(const struct stapy_kprobe_row *a, const struct stapy_kprobe_row *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return compare_texts(a->module, b->module) ?: compare_texts(a->symbol, b->symbol);
}

/* Rows of one place stay in the order of the script. */
static int by_place(const void *a, const void *b)
{
	const struct stapy_kprobe *left = *(const struct stapy_kprobe *const *)a;
	const struct stapy_kprobe *right = *(const struct stapy_kprobe *const *)b;

	return compare_places(left->row, right->row) ?: (left < right ? -1 : 1);
}

/*
 * Statements of several lines, and of functions that are inlined into each other,
 * share their places: one kprobe for each, since the kernel takes milliseconds to
 * register one. Entries are left to ftrace, which does the same for them.
 */
int stapy_share_places(struct stapy_kprobe *probes, unsigned int count)
{
	struct stapy_kprobe **sorted = stapy_alloc(count, sizeof(*sorted));
	unsigned int i, n = 0;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		probes[i].first = &probes[i];
		if (!probes[i].row->is_return && !stapy_may_be_fentry(probes[i].row))
			sorted[n++] = &probes[i];
	}
	sort(sorted, n, sizeof(*sorted), by_place, NULL);
	for (i = 1; i < n; i++)
		if (!compare_places(sorted[i - 1]->row, sorted[i]->row)) {
			sorted[i]->first = sorted[i - 1]->first;
			sorted[i - 1]->same = sorted[i];
		}
	kvfree(sorted);
	return 0;
}

bool stapy_place_wanted(const struct stapy_kprobe *probe)
{
	for (; probe; probe = probe->same)
		if (stapy_wanted(probe->row->site.probe))
			return true;
	return false;
}

int stapy_place_rearm(struct stapy_kprobe *probe)
{
	struct kprobe *kp = stapy_kprobe_of(probe);
	bool wanted = stapy_place_wanted(probe);

	if (wanted == !kprobe_disabled(kp))
		return 0;
	return wanted ? enable_kprobe(kp) : disable_kprobe(kp);
}

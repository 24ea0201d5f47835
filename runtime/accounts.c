// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which probes did what, for the consumer to make a table of (stapy/run/accounts.py). Skipped hits and errors
 * are told apart in any session, for they are rare; hits and cycles where they are counted (-t).
 */
#include "internal.h"
#include "transport/control.h"

#define ROWS 10				/* of the table: the probes that took the most */

struct account {
	const struct stapy_probe *probe;
	s64 hits, cycles;
	u64 troubles;			/* skipped hits, errors */
};

static int was_overloaded;		/* 1: which was the end, 2: and went on all the same */

void stapy_accounts_overload(bool is_end)
{
	WRITE_ONCE(was_overloaded, is_end ? 1 : 2);
}

bool stapy_accounts_hits(const struct stapy_probe *probe, struct stapy_stat *sum)
{
	static const struct stapy_stat_shape shape = { };
	u64 rate = stapy_report_rate();
	int cpu;

	memset(sum, 0, sizeof(*sum));
	if (!probe->cycles)
		return false;
	for_each_possible_cpu(cpu)
		stapy_stat_merge(sum, per_cpu_ptr(probe->cycles, cpu), &shape);
	sum->sum = stapy_report_units(sum->sum, rate);
	sum->min = stapy_report_units(sum->min, rate);
	sum->max = stapy_report_units(sum->max, rate);
	return true;
}

static struct account account_of(const struct stapy_probe *probe)
{
	struct account a = { .probe = probe };
	struct stapy_stat sum;
	unsigned int i;

	stapy_accounts_hits(probe, &sum);
	a.hits = sum.count;
	a.cycles = sum.sum;
	a.troubles = atomic_read(&probe->failed);
	for (i = 0; i < STAPY_SKIP_REASONS; i++)
		a.troubles += atomic_read(&probe->skipped[i]);
	return a;
}

static bool comes_before(const struct account *a, const struct account *b)
{
	if (a->cycles != b->cycles)
		return a->cycles > b->cycles;
	return a->troubles > b->troubles;
}

/* Keep the first ones in order. */
static void keep(struct account *rows, struct account new)
{
	unsigned int i;

	for (i = 0; i < ROWS; i++)
		if (!rows[i].probe || comes_before(&new, &rows[i]))
			swap(rows[i], new);
}

static void tell(const struct account *a)
{
	const struct stapy_probe *probe = a->probe;

	stapy_control("account", "%lld\t%lld\t%d\t%d\t%d\t%d\t%s\t%s", a->hits, a->cycles,
		      atomic_read(&probe->skipped[STAPY_SKIP_REENTRANT]),
		      atomic_read(&probe->skipped[STAPY_SKIP_STACK]),
		      atomic_read(&probe->skipped[STAPY_SKIP_LOCK]), atomic_read(&probe->failed),
		      stapy_probe_point(probe), probe->place);
}

/* `missed` hits of the families belong to no probe. */
void stapy_accounts_report(u64 missed)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	struct account rows[ROWS] = { };
	s64 all = 0;
	unsigned int i;

	if (!READ_ONCE(was_overloaded) && !READ_ONCE(stapy_failed) && !stapy_report_skipped() && !missed)
		return;
	for (i = 0; i < stapy_session.nr_probes; i++) {
		struct account a = account_of(&stapy_session.probes[i]);

		all += a.cycles;
		if (a.hits || a.troubles)
			keep(rows, a);
	}
	stapy_control("accounts", "%d\t%s\t%lld\t%d\t%d\t%d\t%llu\t%s", READ_ONCE(was_overloaded),
		      !limits->timing ? "" : limits->timing_nsecs ? "nsecs" : "cycles", all,
		      stapy_report_skipped_by(STAPY_SKIP_REENTRANT),
		      stapy_report_skipped_by(STAPY_SKIP_STACK),
		      stapy_report_skipped_by(STAPY_SKIP_LOCK), missed, stapy_lock_worst());
	for (i = 0; i < ROWS && rows[i].probe; i++)
		tell(&rows[i]);
}

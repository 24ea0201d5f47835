// SPDX-License-Identifier: GPL-2.0-or-later
/* One counter and one array element, raised under a lock by all CPUs; none may be lost. */
#include "script.h"

static struct stapy_lock lock_n, lock_a;
static s64 n;
static atomic64_t hits = ATOMIC64_INIT(0);
static struct stapy_map *a;

static struct stapy_storage storage[] = {
	{ .name = "a", .map = &a, .value = STAPY_LONG, .nkeys = 1, .keys = { STAPY_LONG } },
};

static const struct stapy_lock_row locks[] = { { &lock_a, true, "a" }, { &lock_n, true, "n" } };
static const struct stapy_lock_row reads[] = { { &lock_a, false, "a" }, { &lock_n, false, "n" } };

static void h_event(struct stapy_context *c)
{
	union stapy_key key = { .n = 1 };
	s64 *slot, before;

	if (!stapy_lock(c, locks, 2))
		return;
	before = n;
	slot = stapy_map_slot(c, a, &key, NULL);
	*slot += 1;
	n = before + 1;
	atomic64_inc(&hits);
	stapy_unlock(c, locks, 2);
}

static void h_tick(struct stapy_context *c)
{
	static s64 ticks;

	if (!stapy_lock(c, reads, 2))
		return;
	if (++ticks == 1000)
		stapy_exit();
	stapy_unlock(c, reads, 2);
}

static void h_end(struct stapy_context *c)
{
	union stapy_key key = { .n = 1 };

	say(c, "hits %d equal %d %d free %d\n", n > 1000, n == atomic64_read(&hits),
	    stapy_map_get_long(a, &key) == n,
	    !atomic_read(&lock_n.state) && !atomic_read(&lock_a.state));
}

static struct stapy_probe probes[] = {
	PROBE(h_event, "kernel.trace(\"sys_enter\")"), PROBE(h_tick, "timer.ms(1)"),
	PROBE(h_end, "end"),
};

static struct stapy_tracepoint_row tracepoint_rows[] = {
	{ .site = { &probes[0], "kernel.trace(\"raw_syscalls:sys_enter\")" }, .name = "sys_enter",
	  .nargs = 2 },
};

static struct stapy_timer_row timer_rows[] = {
	{ .site = { &probes[1], "timer.ms(1)" }, .interval = NSEC_PER_MSEC },
};

static struct stapy_begin_end_row begin_end_rows[] = {
	{ .site = { &probes[2], "end" }, .phase = STAPY_END },
};

static const struct stapy_family_rows families[] = {
	ROWS(stapy_tracepoint, tracepoint_rows), ROWS(stapy_timer, timer_rows),
	ROWS(stapy_begin_end, begin_end_rows),
};

struct stapy_session stapy_session = {
	.limits = { DEFAULT_LIMITS, .maxskipped = 1000000, .no_overload = 1 }, TABLES,
	.storage = storage, .nr_storage = ARRAY_SIZE(storage),
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* What a session tells when it ends: errors, skipped hits, lost output, costs of probes. */
#include "internal.h"
#include "transport/control.h"

static atomic_t skipped[STAPY_SKIP_REASONS];
static atomic_t skipped_total = ATOMIC_INIT(0);
static atomic_t skipped_counted = ATOMIC_INIT(0);	/* those that MAXSKIPPED counts */

void stapy_skip(enum stapy_skip reason, const struct stapy_probe *probe)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	if (probe)
		atomic_inc((atomic_t *)&probe->skipped[reason]);
	atomic_inc(&skipped[reason]);
	atomic_inc(&skipped_total);
	/* Where interrupts may come into a handler, being nested is nobody's fault. */
	if (reason == STAPY_SKIP_REENTRANT && limits->interruptible)
		return;
	if (atomic_inc_return(&skipped_counted) != limits->maxskipped + 1 ||
	    limits->suppress_handler_errors)
		return;
	stapy_control("error", "%s", "Skipped too many probes, check MAXSKIPPED or try again with "
		      "stap -t for more details.");
	stapy_fail();
}

static void report_reason(enum stapy_skip reason, const char *what)
{
	int n = atomic_read(&skipped[reason]);

	if (n)
		stapy_warn("Skipped due to %s: %d", what, n);
}

/* Each cause on a line of its own, in bytes. */
static void report_losses(void)
{
	u64 bytes;
	int i;

	for (i = 0; i < STAPY_LOSSES; i++) {
		bytes = stapy_rings_lost(i);
		if (bytes)
			stapy_warn("Lost %llu bytes of output: %s", bytes, stapy_loss_text(i));
	}
}

void stapy_report_skips(u64 missed)
{
	u64 total = atomic_read(&skipped_total) + missed;
	u64 failures = stapy_rings_failures();
	int errors = atomic_read(&stapy_session.errors);

	if (errors || total) {
		stapy_warn("Number of errors: %d, skipped probes: %llu", errors, total);
		stapy_lock_report();
		report_reason(STAPY_SKIP_STACK, "low stack");
		report_reason(STAPY_SKIP_REENTRANT, "reentrancy");
	}
	if (failures)
		stapy_warn("There were %llu transport failures. Try stap -s to increase the buffer "
			   "size from %zu.", failures, max_t(size_t, stapy_ring_bytes() >> 20, 1));
	report_losses();
}

void stapy_report_lost(void)
{
	unsigned int lost = stapy_control_lost();

	if (lost)
		stapy_warn("%u warnings or errors were lost", lost);
}

/* Where the two clocks stood when the module was loaded. */
static u64 first_cycles, first_ns;

u64 stapy_report_rate(void)
{
	if (!stapy_session.limits.timing_nsecs)
		return 1 << STAPY_RATE_SHIFT;
	return div64_u64(stapy_stamp() - first_ns,
			 max_t(u64, (stapy_cycles() - first_cycles) >> STAPY_RATE_SHIFT, 1));
}

u64 stapy_report_age(void)
{
	return stapy_stamp() - first_ns;
}

u64 stapy_report_skipped(void)
{
	return atomic_read(&skipped_total);
}

int stapy_report_skipped_by(enum stapy_skip reason)
{
	return atomic_read(&skipped[reason]);
}

static void nothing(struct stapy_context *c)
{
}

/* Per-probe statistics are kept only with -t, --monitor, and -D STP_ALIBI, which runs no handlers. */
int stapy_report_alloc(void)
{
	unsigned int i;

	if (!stapy_session.limits.timing)
		return 0;
	first_cycles = stapy_cycles();
	first_ns = stapy_stamp();
	for (i = 0; i < stapy_session.nr_probes; i++) {
		if (stapy_session.limits.alibi) {
			stapy_session.probes[i].handler = nothing;
			stapy_session.probes[i].entry = NULL;
		}
		stapy_session.probes[i].cycles = alloc_percpu(struct stapy_stat);
		if (!stapy_session.probes[i].cycles)
			return -ENOMEM;
		if (!stapy_session.probes[i].entry)
			continue;
		stapy_session.probes[i].entry_cycles = alloc_percpu(struct stapy_stat);
		if (!stapy_session.probes[i].entry_cycles)
			return -ENOMEM;
	}
	return 0;
}

void stapy_report_free(void)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_probes; i++) {
		free_percpu(stapy_session.probes[i].cycles);
		stapy_session.probes[i].cycles = NULL;
		free_percpu(stapy_session.probes[i].entry_cycles);
		stapy_session.probes[i].entry_cycles = NULL;
	}
}

/* Either hits, or runs of the entry side. */
static void print_probe(struct stapy_context *c, unsigned int number, struct stapy_stat __percpu *of,
			const char *what, u64 rate)
{
	static const struct stapy_stat_shape shape = { .variance = 1 };
	const struct stapy_probe *probe = &stapy_session.probes[number];
	struct stapy_stat sum = { 0 };
	s64 variance;
	int cpu;

	for_each_possible_cpu(cpu)
		stapy_stat_merge(&sum, per_cpu_ptr(of, cpu), &shape);
	if (!sum.count)
		return;
	if (stapy_session.limits.alibi) {
		stapy_printf(c, "%s, (%s), %s: %lld, from: %s, index: %u\n",
			     stapy_probe_point(probe), probe->place, what, sum.count,
			     probe->written, number);
		return;
	}
	stapy_stat_value(c, &sum, STAPY_VARIANCE, 0, &variance, NULL);
	stapy_printf(c, "%s, (%s), %s: %lld, %s: %lldmin/%lldavg/%lldmax, variance: %lld, "
		     "from: %s, index: %u\n", stapy_probe_point(probe), probe->place, what,
		     sum.count, stapy_session.limits.timing_nsecs ? "nsecs" : "cycles",
		     stapy_report_units(sum.min, rate), stapy_report_units(sum.sum / sum.count, rate),
		     stapy_report_units(sum.max, rate),
		     stapy_report_units(stapy_report_units(variance, rate), rate), probe->written,
		     number);
}

static void print_probes(struct stapy_context *c)
{
	u64 rate = stapy_report_rate();
	unsigned int i;

	stapy_printf(c, "%s", "----- probe hit report: \n");
	for (i = 0; i < stapy_session.nr_probes; i++) {
		print_probe(c, i, stapy_session.probes[i].cycles, "hits", rate);
		if (stapy_session.probes[i].entry_cycles)
			print_probe(c, i, stapy_session.probes[i].entry_cycles, "entries", rate);
	}
}

void stapy_report_probes(void)
{
	static struct stapy_probe probe = { .handler = print_probes };
	static const struct stapy_site site = { .probe = &probe };
	struct stapy_context *c;

	if (!stapy_session.limits.timing || stapy_session.limits.unreported)
		return;
	c = stapy_enter_in(&site, STAPY_STOPPING);
	if (!c)
		return;
	stapy_interruptible(c);
	stapy_run(c);
	stapy_leave(c);
}

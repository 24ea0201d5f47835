// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The overload rule: handlers that take more of a CPU's time than they may end the session. With
 * --on-overload the session goes on without the probe that took most of it on that CPU: it rests there
 * until what the handlers took is the share that they may take, or is disarmed. Which one took
 * most needs no search, since what each took only grows within an interval.
 */
#include "hit.h"
#include "transport/control.h"

#define LONGEST_REST 4096		/* intervals */

/* What a probe does to one CPU. */
struct stapy_load {
	u64 interval;			/* the next is of this one */
	u64 cycles;
	u64 rests_from, rests_for;	/* get_cycles() */
	u64 left_out;			/* hits that came meanwhile */
};

void (*stapy_disarm)(struct stapy_condition *condition);

int stapy_overload_alloc(void)
{
	unsigned int i;

	if (!stapy_session.limits.on_overload)
		return 0;
	for (i = 0; i < stapy_session.nr_probes; i++) {
		struct stapy_probe *probe = &stapy_session.probes[i];

		if (!probe->condition)
			continue;
		probe->load = alloc_percpu(struct stapy_load);
		if (!probe->load)
			return -ENOMEM;
	}
	return 0;
}

void stapy_overload_free(void)
{
	unsigned int i;

	for (i = 0; i < stapy_session.nr_probes; i++) {
		free_percpu(stapy_session.probes[i].load);
		stapy_session.probes[i].load = NULL;
	}
}

/* These two are asked before there is a context. On another CPU meanwhile, we are told of that one. */
bool STAPY_CALLBACK stapy_stays_off(const struct stapy_probe *probe)
{
	int off = atomic_read(&probe->condition->off);
	const struct stapy_load *load;

	if (off != STAPY_OFF_RESTS)
		return off;
	load = raw_cpu_ptr(probe->load);
	/* A clock that was set back, as by a sleep of the machine, ends the rest. */
	return get_cycles() - READ_ONCE(load->rests_from) < READ_ONCE(load->rests_for);
}

bool STAPY_CALLBACK stapy_left_out(const struct stapy_probe *probe)
{
	if (!stapy_stays_off(probe))
		return false;
	if (atomic_read(&probe->condition->off) == STAPY_OFF_RESTS)
		this_cpu_inc(probe->load->left_out);
	return true;
}

void stapy_overload_count(struct stapy_context *c, u64 cycles)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	const struct stapy_probe *probe = c->site->probe;
	struct stapy_load *load;

	if (!probe->load)
		return;
	load = this_cpu_ptr(probe->load);
	if (load->interval != cpu->intervals) {
		load->interval = cpu->intervals;
		load->cycles = 0;
	}
	load->cycles += cycles;
	if (load->cycles > cpu->heaviest_cycles) {
		cpu->heaviest = probe;
		cpu->heaviest_cycles = load->cycles;
	}
}

static void end_session(u64 cycles, u64 interval)
{
	stapy_control("error",
		      "probe overhead (%llu cycles) exceeded threshold (%llu cycles) in last %llu cycles",
		      cycles, stapy_session.limits.overload_threshold, interval);
	atomic_inc(&stapy_session.errors);
	stapy_accounts_overload(true);
	stapy_fail();
}

/* The point comes last, for it may be long. */
static void tell_of_overload(const struct stapy_cpu *cpu, u64 cycles, u64 interval, const char *what)
{
	const struct stapy_probe *probe = cpu->heaviest;

	if (test_and_set_bit(0, &probe->condition->told))
		return;
	stapy_warn("probe overhead (%llu cycles) exceeded threshold (%llu cycles) in last %llu cycles; %s that took %llu%% of it: %s at %s",
		   cycles, stapy_session.limits.overload_threshold, interval, what,
		   div64_u64(cpu->heaviest_cycles * 100, max(cycles, 1ULL)), stapy_probe_point(probe),
		   probe->place);
}

/* For how long no more may be done, so that `cycles` are the share that is allowed. */
static u64 rest_for(u64 cycles, u64 interval)
{
	const struct stapy_limits *limits = &stapy_session.limits;
	u64 whole = min_t(u64, limits->overload_interval, 1ULL << 40);
	/* in 256ths */
	u64 times = div64_u64(min_t(u64, cycles, 1ULL << 50) << 8, max(limits->overload_threshold, 1ULL));
	u64 needed = min_t(u64, times, LONGEST_REST << 8) * whole >> 8;

	return needed > interval ? needed - interval : 0;
}

static void rest(const struct stapy_cpu *cpu, u64 cycles, u64 interval, u64 now)
{
	const struct stapy_probe *probe = cpu->heaviest;
	struct stapy_load *load = this_cpu_ptr(probe->load);
	u64 length = rest_for(cycles, interval);

	/* Of a long interval, they may take more. */
	if (!length)
		return;
	stapy_accounts_overload(false);
	tell_of_overload(cpu, cycles, interval, "hits are left out from now on of the probe");
	WRITE_ONCE(load->rests_from, now);
	WRITE_ONCE(load->rests_for, length);
	atomic_or(STAPY_OFF_RESTS, &probe->condition->off);
}

static void overloaded(const struct stapy_cpu *cpu, u64 cycles, u64 interval, u64 now)
{
	if (!cpu->heaviest) {
		end_session(cycles, interval);
	} else if (stapy_session.limits.on_overload == STAPY_OVERLOAD_DISARM) {
		stapy_accounts_overload(false);
		tell_of_overload(cpu, cycles, interval, "disarmed is the probe");
		stapy_disarm(cpu->heaviest->condition);
	} else {
		rest(cpu, cycles, interval, now);
	}
}

void stapy_overload_interval(struct stapy_context *c, u64 now)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	const struct stapy_limits *limits = &stapy_session.limits;

	cpu->overload_cycles += c->spent;
	c->spent = cpu->spent = 0;
	/* Before more cycles than `spent` can hold are spent, it is looked at. */
	c->deadline = now + min_t(u64, limits->overload_interval, INT_MAX) + 1;
	if (cpu->overload_start && now - cpu->overload_start <= limits->overload_interval)
		return;
	/* Nothing is known about the time before the first hit. */
	if (cpu->overload_start && cpu->overload_cycles > limits->overload_threshold &&
	    !limits->no_overload && !limits->suppress_time_limits)
		overloaded(cpu, cpu->overload_cycles, now - cpu->overload_start, now);
	cpu->overload_start = now;
	cpu->overload_cycles = 0;
	cpu->intervals++;
	cpu->heaviest = NULL;
	cpu->heaviest_cycles = 0;
}

void stapy_overload_report(void)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < stapy_session.nr_probes; i++) {
		const struct stapy_probe *probe = &stapy_session.probes[i];
		u64 hits = 0;

		if (!probe->load)
			continue;
		for_each_possible_cpu(cpu)
			hits += per_cpu_ptr(probe->load, cpu)->left_out;
		if (hits)
			stapy_warn("Left out because of overload: %llu hits of %s at %s", hits,
				   stapy_probe_point(probe), probe->place);
	}
}

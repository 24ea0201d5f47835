// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ftrace_ops for all probes at entries, those of returns included: arming
 * them one by one takes the kernel 50 ms each. It calls back for each of the
 * functions in its filter; a hash table finds the probes by the address.
 */
#include "../hit.h"
#include "entries.h"
#include "fentry.h"

#ifdef STAPY_FTRACE_ENTRIES

struct place {
	unsigned long address;
	struct stapy_kprobe *first;	/* more of the same place follow by ->same */
	const struct stapy_site *only;	/* there is just this one, whose handler always runs */
	void (*handler)(struct stapy_context *c);	/* of it */
	bool armed;			/* in the filter */
};

static struct place *places;
static unsigned int places_mask;
static unsigned long *filter;		/* room for all addresses */
static bool registered;

static __always_inline unsigned int slot_of(unsigned long address)
{
	return (address * STAPY_MIX) >> 32 & places_mask;
}

/* The probes of an address, or the empty place where it belongs. */
static __always_inline struct place *find(unsigned long address)
{
	unsigned int i = slot_of(address);

	while (places[i].first && places[i].address != address)
		i = (i + 1) & places_mask;
	return &places[i];
}

/* A hit of one probe, whatever is to be looked at. */
static noinline void STAPY_CALLBACK hit(const struct stapy_site *site, unsigned long address,
					struct pt_regs *regs)
{
	struct stapy_context *c = stapy_hit_enter(stapy_hides, site, regs, address);

	if (!c)
		return;
	stapy_hit_run(c, site->probe->handler);
	stapy_hit_leave(c);
}

/* A hit of the only probe of a place. */
static __always_inline void hit_only(const struct place *place, unsigned long address,
				     struct pt_regs *regs)
{
	struct stapy_context *c;

	if (unlikely(!stapy_hit_begin(&c, place->only, regs, address))) {
		hit(place->only, address, regs);
		return;
	}
	stapy_hit_run(c, place->handler);
	stapy_hit_leave(c);
}

#if STAPY_FTRACE_RETURNS
/* What hooks a return must not meet itself, and no NMI may come in between. */
static DEFINE_PER_CPU(int, hooking);

/*
 * What the kernel does when the kprobe of a return probe is hit: it takes an
 * instance, calls our entry side and hooks the return address.
 */
static __always_inline void hook_return(struct kretprobe *rp, struct pt_regs *regs)
{
	preempt_disable_notrace();
	if (likely(__this_cpu_inc_return(hooking) == 1))
		rp->kp.pre_handler(&rp->kp, regs);
	else
		rp->kp.nmissed++;
	__this_cpu_dec(hooking);
	preempt_enable_notrace();
}
#else
static __always_inline void hook_return(struct kretprobe *rp, struct pt_regs *regs)
{
}
#endif

/* Whatever a place has but a single handler. */
static noinline void STAPY_CALLBACK on_probes(struct stapy_kprobe *probe, unsigned long ip,
					      struct pt_regs *regs)
{
	for (; probe; probe = probe->same)
		if (probe->row->is_return)
			hook_return(&probe->rp, regs);
		else if (probe->row->remembers)
			stapy_remember_entry(probe->row->remembers, regs);
		else
			hit(&probe->row->site, ip, regs);
}

static __always_inline void on_place(const struct place *place, unsigned long ip,
				     struct pt_regs *regs)
{
	if (likely(place->only))
		hit_only(place, ip, regs);
	else
		on_probes(place->first, ip, regs);
}

/*
 * Without the kernel's protection against recursion: nothing that could be
 * traced is called before the context is taken, and then it protects.
 */
static void STAPY_CALLBACK on_function(unsigned long ip, unsigned long parent,
				       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	on_place(find(ip), ip, stapy_ftrace_regs(fregs));
}

/* The only function in the filter. */
static struct place lone;

static void STAPY_CALLBACK on_lone_function(unsigned long ip, unsigned long parent,
					    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	hit_only(&lone, ip, stapy_ftrace_regs(fregs));
}

static void STAPY_CALLBACK on_lone_place(unsigned long ip, unsigned long parent,
					 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	on_probes(lone.first, ip, stapy_ftrace_regs(fregs));
}

static struct ftrace_ops ops;

/* Put those of one kind in front of what is there; returns how many places are new. */
static unsigned int fill_places(struct stapy_kprobe *probes, unsigned int count, bool is_return)
{
	unsigned int i, n = 0;

	/* From the last to the first, so that probes of one place run in their order. */
	for (i = count; i--;) {
		struct stapy_kprobe *probe = &probes[i];
		struct place *place;

		if (!probe->fentry || probe->row->is_return != is_return)
			continue;
		place = find((unsigned long)probe->kp.addr);
		if (!place->first)
			lone.address = (unsigned long)probe->kp.addr;
		n += !place->first;
		/* What is remembered must not go stale: let nobody switch ftrace off meanwhile. */
		if (probe->row->remembers)
			ops.flags |= FTRACE_OPS_FL_PERMANENT;
		place->address = (unsigned long)probe->kp.addr;
		place->only = NULL;
		if (!place->first && !is_return && !probe->row->remembers &&
		    !probe->row->site.probe->condition) {
			place->only = &probe->row->site;
			place->handler = probe->row->site.probe->handler;
		}
		probe->same = place->first;
		place->first = probe;
	}
	return n;
}

/* Put the addresses that are wanted into the filter; true when they are not those that were in it. */
static bool choose(unsigned int *wanted)
{
	bool changed = false;
	unsigned int i;

	*wanted = 0;
	for (i = 0; i <= places_mask; i++) {
		bool armed = places[i].first && stapy_place_wanted(places[i].first);

		changed |= armed != places[i].armed;
		places[i].armed = armed;
		if (armed)
			filter[(*wanted)++] = places[i].address;
	}
	return changed;
}

static void unregister(void)
{
	if (registered)
		unregister_ftrace_function(&ops);
	registered = false;
}

int stapy_fentry_rearm(void)
{
	unsigned int wanted;
	int r;

	if (!places || !choose(&wanted))
		return 0;
	/* An empty filter would mean all functions. */
	if (!wanted) {
		unregister();
		return 0;
	}
	r = stapy_ftrace_filter(&ops, filter, wanted);
	if (!r && !registered) {
		r = register_ftrace_function(&ops);
		registered = !r;
	}
	if (r)
		stapy_fentry_stop();
	return r;
}

int stapy_fentry_start(struct stapy_kprobe *probes, unsigned int count)
{
	unsigned int i, n = 0, slots;
	bool few = true;

	for (i = 0; i < count; i++) {
		n += probes[i].fentry;
		few &= !probes[i].fentry || probes[i].row->few_registers;
	}
	if (!n)
		return 0;
	slots = roundup_pow_of_two(2 * n);
	places = stapy_alloc(slots, sizeof(*places));
	filter = stapy_alloc(n, sizeof(*filter));
	if (!places || !filter) {
		stapy_fentry_stop();
		return -ENOMEM;
	}
	places_mask = slots - 1;
	/* Entries come first, for they look at the return address that the others change. */
	n = fill_places(probes, count, true);
	n += fill_places(probes, count, false);
	lone = *find(lone.address);
	if (!STAPY_FTRACE_ARGUMENTS || !few)
		ops.flags |= FTRACE_OPS_FL_SAVE_REGS;
	ops.func = n > 1 ? on_function : lone.only ? on_lone_function : on_lone_place;
	return stapy_fentry_rearm();
}

void stapy_fentry_stop(void)
{
	unregister();
	if (places)
		ftrace_free_filter(&ops);
	kvfree(places);
	kvfree(filter);
	places = NULL;
	filter = NULL;
}

#else

int stapy_fentry_start(struct stapy_kprobe *probes, unsigned int count)
{
	return -EOPNOTSUPP;
}

int stapy_fentry_rearm(void)
{
	return 0;
}

void stapy_fentry_stop(void)
{
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ftrace_ops for all rows. The kernel calls back for each of the functions
 * in its filter; a hash table finds the row by the address.
 */
#include "../hit.h"
#include "fentry.h"

#ifdef STAPY_FTRACE_ENTRIES

struct place {
	unsigned long address;
	struct stapy_kprobe_row *row;	/* more rows of the same place follow by ->same */
};

static struct place *places;
static unsigned int places_mask;
static bool registered;

static __always_inline unsigned int slot_of(unsigned long address)
{
	return (address * STAPY_MIX) >> 32 & places_mask;
}

/* The row of an address, or the empty place where it belongs. */
static __always_inline struct place *find(unsigned long address)
{
	unsigned int i = slot_of(address);

	while (places[i].row && places[i].address != address)
		i = (i + 1) & places_mask;
	return &places[i];
}

static __always_inline void hit(struct stapy_kprobe_row *row, unsigned long address,
				struct pt_regs *regs)
{
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return;
	c->regs = regs;
	c->address = address;
	stapy_hit_run(c, probe->handler);
	stapy_hit_leave(c);
}

/*
 * Without the kernel's protection against recursion: nothing that could be
 * traced is called before the context is taken, and then it protects.
 */
static void STAPY_CALLBACK on_call(unsigned long ip, unsigned long parent,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	struct stapy_kprobe_row *row = find(ip)->row;

	for (; row; row = row->same)
		hit(row, ip, regs);
}

static struct ftrace_ops ops = {
	.func = on_call,
	.flags = FTRACE_OPS_FL_SAVE_REGS,
};

static unsigned int fill_places(struct stapy_kprobe_row *rows, unsigned int count,
				unsigned long *addresses)
{
	unsigned int i, n = 0;

	/* From the last to the first, so that rows of one place run in their order. */
	for (i = count; i--;) {
		struct stapy_kprobe_row *row = &rows[i];
		struct place *place;

		if (!row->fentry)
			continue;
		place = find((unsigned long)row->kp.addr);
		if (!place->row)
			addresses[n++] = (unsigned long)row->kp.addr;
		place->address = (unsigned long)row->kp.addr;
		row->same = place->row;
		place->row = row;
	}
	return n;
}

int stapy_fentry_start(struct stapy_kprobe_row *rows, unsigned int count)
{
	unsigned int i, n = 0, slots;
	unsigned long *addresses;
	int r = -ENOMEM;

	for (i = 0; i < count; i++)
		n += rows[i].fentry;
	if (!n)
		return 0;
	slots = roundup_pow_of_two(2 * n);
	places = kvcalloc(slots, sizeof(*places), GFP_KERNEL);
	addresses = kvcalloc(n, sizeof(*addresses), GFP_KERNEL);
	if (!places || !addresses)
		goto failed;
	places_mask = slots - 1;
	n = fill_places(rows, count, addresses);
	r = stapy_ftrace_filter(&ops, addresses, n);
	r = r ?: register_ftrace_function(&ops);
	if (r)
		goto failed;
	registered = true;
	kvfree(addresses);
	return 0;
failed:
	kvfree(addresses);
	stapy_fentry_stop();
	return r;
}

void stapy_fentry_stop(void)
{
	if (registered)
		unregister_ftrace_function(&ops);
	registered = false;
	if (places)
		ftrace_free_filter(&ops);
	kvfree(places);
	places = NULL;
}

#else

int stapy_fentry_start(struct stapy_kprobe_row *rows, unsigned int count)
{
	return -EOPNOTSUPP;
}

void stapy_fentry_stop(void)
{
}

#endif

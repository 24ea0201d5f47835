// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel calls for kprobes and kretprobes. */
#include "../hit.h"
#include "../compat/linux/kprobes.h"
#include "callers.h"
#include "entries.h"
#include "fentry.h"

/* False for a call from a place that the probe does not ask for. */
static __always_inline bool is_meant(const struct stapy_kprobe_row *row, const struct kprobe *kp,
				     struct pt_regs *regs)
{
	return likely(!row->callers) ||
	       stapy_called_by(row->callers, row->symbols, (unsigned long)kp->addr, regs);
}

static __always_inline void kprobe_hit(const struct stapy_kprobe_row *row, struct kprobe *kp,
				       struct pt_regs *regs)
{
	struct stapy_context *c;

	/* The entry of a function that other handlers ask about: it runs none itself. */
	if (unlikely(row->remembers)) {
		stapy_remember_entry(row->remembers, regs);
		return;
	}
	if (!is_meant(row, kp, regs))
		return;
	c = stapy_hit_enter(stapy_hides, &row->site, regs, (unsigned long)kp->addr);
	if (!c)
		return;
	stapy_hit_run(c, row->site.probe->handler);
	stapy_hit_leave(c);
}

int STAPY_CALLBACK stapy_on_entry(struct kprobe *kp, struct pt_regs *regs)
{
	const struct stapy_kprobe *probe = container_of(kp, struct stapy_kprobe, kp);

	for (; probe; probe = probe->same)
		kprobe_hit(probe->row, kp, regs);
	return 0;
}

int STAPY_CALLBACK stapy_on_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = stapy_kretprobe(ri);
	const struct stapy_kprobe_row *row = container_of(rp, struct stapy_kprobe, rp)->row;
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;
	bool failed;

	if (stapy_is_hidden() || !is_meant(row, &rp->kp, regs))
		return 1;
	if (!probe->entry)
		return 0;
	c = stapy_hit_enter(NULL, &row->site, regs, (unsigned long)rp->kp.addr);
	if (!c)
		return 1;
	c->slots = ri->data;
	c->at_entry = true;
	stapy_hit_run(c, probe->entry);
	failed = c->error;
	stapy_hit_leave(c);
	return failed;
}

int STAPY_CALLBACK stapy_on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = stapy_kretprobe(ri);
	const struct stapy_kprobe_row *row;
	struct stapy_context *c;

	/* The probe may be on its way out while a call still runs. */
	if (unlikely(!rp))
		return 0;
	row = container_of(rp, struct stapy_kprobe, rp)->row;
	/* Not every return probe has an entry side to look at what is hidden. */
	c = stapy_hit_enter(stapy_hides, &row->site, regs, (unsigned long)rp->kp.addr);
	if (!c)
		return 0;
	c->slots = ri->data;
	c->is_return = true;
	stapy_hit_run(c, row->site.probe->handler);
	c->is_return = false;
	stapy_hit_leave(c);
	return 0;
}

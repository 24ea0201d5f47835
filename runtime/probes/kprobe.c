// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel functions and statements: kprobes and kretprobes, one for each row. */
#include "../build.h"
#include "../internal.h"
#include "entries.h"
#include "fentry.h"
#include "resolve.h"

#define NAME_BYTES (MODULE_NAME_LEN + KSYM_NAME_LEN + 2)
#define MANY 16				/* entries for which resolving their names apart pays */
#define REPORTED 20			/* rows that the report of missed hits names */

static struct stapy_kprobe *all;	/* one for each row */
static unsigned int nr;
static bool arming;			/* the others are armed; under the mutex */
static DEFINE_MUTEX(mutex);

static bool is_of(const struct stapy_kprobe *probe, const char *module)
{
	return probe->row->module && !strcmp(probe->row->module, module);
}

/*
 * Give the kernel a fresh structure: a probe that was registered once leaves traces
 * in it. With the others of its session or module it is armed later: by ftrace, if
 * that can take it over; and each kprobe that is armed lets the kernel's optimizer
 * loose, which would hold up all that are still to be registered.
 */
static void prepare(struct stapy_kprobe *probe, const char *name)
{
	const struct stapy_kprobe_row *row = probe->row;
	struct kprobe *kp = stapy_kprobe_of(probe);

	memset(&probe->rp, 0, sizeof(probe->rp));
	if (row->is_return) {
		probe->rp.handler = stapy_on_return;
		probe->rp.entry_handler = row->site.probe->entry || row->callers ? stapy_on_call : NULL;
		probe->rp.data_size = row->slot_bytes;
		probe->rp.maxactive = row->maxactive > 0 ? row->maxactive :
				      max_t(int, 15, 6 * num_possible_cpus());
	} else {
		kp->pre_handler = stapy_on_entry;
	}
	kp->flags = KPROBE_FLAG_DISABLED;
	if (name) {
		kp->symbol_name = name;
		kp->offset = row->offset;
	} else {
		kp->addr = (kprobe_opcode_t *)row->address;
	}
}

/* An entry that ftrace will take over needs no kprobe. */
static bool resolve(struct stapy_kprobe *probe)
{
	const struct stapy_kprobe_row *row = probe->row;
	unsigned long place;

	if (arming || row->is_return || !row->symbol || !stapy_may_be_fentry(row))
		return false;
	place = stapy_resolve_entry(row->symbol);
	if (!place)
		return false;
	prepare(probe, NULL);
	probe->kp.addr = (kprobe_opcode_t *)place;
	probe->kp.flags |= KPROBE_FLAG_FTRACE;
	probe->armed = true;
	return true;
}

static int arm(struct stapy_kprobe *probe)
{
	const struct stapy_kprobe_row *row = probe->row;
	const char *name = row->symbol;
	char *qualified = NULL;
	int r;

	if (probe->first != probe) {
		probe->armed = probe->first->armed;
		return probe->first->error;
	}
	if (resolve(probe))
		return 0;
	if (row->symbol && row->module) {
		qualified = kmalloc(NAME_BYTES, GFP_KERNEL);
		if (!qualified)
			return -ENOMEM;
		snprintf(qualified, NAME_BYTES, "%s:%s", row->module, row->symbol);
		name = qualified;
	}
	prepare(probe, name);
	r = row->is_return ? register_kretprobe(&probe->rp) : register_kprobe(&probe->kp);
	/* Only looked at while registering. */
	stapy_kprobe_of(probe)->symbol_name = NULL;
	kfree(qualified);
	probe->armed = probe->registered = !r;
	return r;
}

/* Hits that the kernel missed, those before a module's going away included. */
static unsigned long missed_of(struct stapy_kprobe *probe)
{
	unsigned long n = probe->missed;

	/* Where the kernel misses an entry, it misses all that the call comes to as well. */
	if (probe->row->remembers)
		return 0;
	if (probe->armed && probe->row->is_return)
		n += probe->rp.nmissed;
	return probe->armed ? n + stapy_kprobe_of(probe)->nmissed : n;
}

/* Disarm the probes that `module` owns (NULL: all) with one wait for all of them. */
static void disarm(const char *module)
{
	struct kretprobe **returns = stapy_alloc(nr, sizeof(*returns));
	struct kprobe **entries = stapy_alloc(nr, sizeof(*entries));
	unsigned int i, nr_returns = 0, nr_entries = 0;

	if (!module)
		stapy_fentry_stop();
	for (i = 0; i < nr; i++) {
		if (!all[i].armed || (module && !is_of(&all[i], module)))
			continue;
		all[i].missed = missed_of(&all[i]);
		all[i].armed = false;
		if (!all[i].registered)
			continue;
		all[i].registered = false;
		if (all[i].row->is_return && returns)
			returns[nr_returns++] = &all[i].rp;
		else if (all[i].row->is_return)
			unregister_kretprobe(&all[i].rp);
		else if (entries)
			entries[nr_entries++] = &all[i].kp;
		else
			unregister_kprobe(&all[i].kp);
	}
	if (nr_returns)
		unregister_kretprobes(returns, nr_returns);
	if (nr_entries)
		unregister_kprobes(entries, nr_entries);
	kvfree(returns);
	kvfree(entries);
}

static void warn_error(const struct stapy_kprobe *probe, int error)
{
	stapy_warn("probe %s registration error (rc %d)", probe->row->site.point, error);
}

static void enable(struct stapy_kprobe *probe)
{
	probe->fentry = false;
	if (probe->first != probe) {
		probe->error = probe->first->error;
		probe->armed = probe->first->armed;
		return;
	}
	if (!probe->registered) {
		probe->kp.flags = stapy_place_wanted(probe) ? 0 : KPROBE_FLAG_DISABLED;
		probe->error = register_kprobe(&probe->kp);
		probe->armed = probe->registered = !probe->error;
		return;
	}
	probe->error = stapy_place_rearm(probe);
	if (!probe->error)
		return;
	if (probe->row->is_return)
		unregister_kretprobe(&probe->rp);
	else
		unregister_kprobe(&probe->kp);
	probe->armed = probe->registered = false;
}

/* ftrace will not have them. */
static void arm_without_ftrace(void)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (all[i].armed && all[i].fentry) {
			all[i].same = NULL;
			enable(&all[i]);
		}
}

/* They were registered without arming them: let ftrace have what it can, arm the others. */
static int arm_entries(void)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (stapy_interrupted())
			return -EINTR;
		if (!all[i].armed)
			continue;
		all[i].fentry = stapy_may_be_fentry(all[i].row) &&
				stapy_kprobe_of(&all[i])->flags & KPROBE_FLAG_FTRACE;
		if (!all[i].fentry)
			enable(&all[i]);
	}
	if (stapy_fentry_start(all, nr))
		arm_without_ftrace();
	return stapy_interrupted() ? -EINTR : 0;
}

static void rearm(void *rows, unsigned int count)
{
	unsigned int i;

	mutex_lock(&mutex);
	if (arming && stapy_fentry_rearm()) {
		arm_without_ftrace();
		for (i = 0; i < nr; i++)
			if (all[i].error && !all[i].fentry)
				warn_error(&all[i], all[i].error);
	}
	/* Each takes the kernel a while: do not let the session's end wait for all of them. */
	for (i = 0; arming && i < nr && stapy_state() == STAPY_RUNNING; i++) {
		struct stapy_kprobe *probe = &all[i];

		if (!probe->registered || probe->fentry || probe->first != probe)
			continue;
		probe->error = stapy_place_rearm(probe);
		if (probe->error)
			warn_error(probe, probe->error);
	}
	mutex_unlock(&mutex);
}

static bool wants(const char *module)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (is_of(&all[i], module))
			return true;
	return false;
}

/* A module has come. */
static void arm_module(const char *module)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (is_of(&all[i], module) && !all[i].armed)
			all[i].error = arm(&all[i]);
	for (i = 0; i < nr; i++)
		if (is_of(&all[i], module) && all[i].armed)
			enable(&all[i]);
	for (i = 0; i < nr; i++)
		if (is_of(&all[i], module) && all[i].error)
			warn_error(&all[i], all[i].error);
}

static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;

	mutex_lock(&mutex);
	if (arming && event == MODULE_STATE_COMING && wants(module->name) &&
	    stapy_module_fits(module))
		arm_module(module->name);
	else if (arming && event == MODULE_STATE_GOING)
		disarm(module->name);
	mutex_unlock(&mutex);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

/* A place that cannot be armed is told, and the session goes on without it. */
static int arm_all(void)
{
	unsigned int i;

	if (nr >= MANY)
		stapy_resolve_prepare();
	for (i = 0; i < nr; i++) {
		/* Each may take the kernel a millisecond, and there may be thousands. */
		if (stapy_interrupted())
			return -EINTR;
		all[i].error = arm(&all[i]);
		/* The module may come later. */
		if (all[i].error == -ENOENT && all[i].row->module)
			all[i].error = 0;
	}
	if (arm_entries())
		return -EINTR;
	for (i = 0; i < nr; i++)
		if (all[i].error)
			warn_error(&all[i], all[i].error);
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	mutex_lock(&mutex);
	arming = false;
	disarm(NULL);
	mutex_unlock(&mutex);
	unregister_module_notifier(&module_notifier);
	stapy_entries_free();
	kvfree(all);
	all = NULL;
	nr = 0;
}

static int start(void *rows, unsigned int count)
{
	bool remembers = false;
	unsigned int i;
	int r;

	all = stapy_alloc(count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	nr = count;
	for (i = 0; i < nr; i++) {
		all[i].row = (const struct stapy_kprobe_row *)rows + i;
		remembers |= all[i].row->remembers;
	}
	r = stapy_share_places(all, nr);
	if (!r && remembers)
		r = stapy_entries_alloc();
	r = r ?: register_module_notifier(&module_notifier);
	if (r) {
		stapy_entries_free();
		kvfree(all);
		return r;
	}
	mutex_lock(&mutex);
	r = arm_all();
	arming = !r;
	mutex_unlock(&mutex);
	if (r)
		stop(rows, count);
	return r;
}

static void report(struct stapy_kprobe *probe)
{
	const char *point = probe->row->site.point, *what = "kprobe/1";
	unsigned long n = missed_of(probe);

	if (probe->row->is_return) {
		/* 1: no free instance, 2: the kprobe at the entry was not hit */
		if (probe->armed && probe->rp.nmissed) {
			stapy_warn("Skipped due to missed kretprobe/1 on '%s': %d", point,
				   probe->rp.nmissed);
			n -= probe->rp.nmissed;
		}
		what = "kretprobe/2";
	}
	if (n)
		stapy_warn("Skipped due to missed %s on '%s': %lu", what, point, n);
}

static u64 missed(void *rows, unsigned int count)
{
	unsigned int i, reported = 0;
	u64 total = 0;

	mutex_lock(&mutex);
	for (i = 0; i < nr; i++) {
		unsigned long n = missed_of(&all[i]);

		if (n && reported++ < REPORTED)
			report(&all[i]);
		total += n;
	}
	mutex_unlock(&mutex);
	return total;
}

const struct stapy_family stapy_kprobe = {
	.name = "kprobe",
	.start = start,
	.stop = stop,
	.missed = missed,
	.rearm = rearm,
};

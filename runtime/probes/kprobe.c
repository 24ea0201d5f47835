// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel functions and statements: kprobes and kretprobes, one for each row. */
#include "../hit.h"
#include "callers.h"
#include "fentry.h"

#define NAME_BYTES (MODULE_NAME_LEN + KSYM_NAME_LEN + 2)
#define REPORTED 20			/* rows that the report of missed hits names */

static struct stapy_kprobe_row *all_rows;
static unsigned int nr_rows;
static bool arming;			/* rows may be armed; under the mutex */
static DEFINE_MUTEX(mutex);

/* False for a call from a place that the probe does not ask for. */
static __always_inline bool is_meant(const struct stapy_kprobe_row *row, const struct kprobe *kp,
				     struct pt_regs *regs)
{
	return likely(!row->callers) ||
	       stapy_called_by(row->callers, (unsigned long)kp->addr, regs);
}

static int STAPY_CALLBACK on_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct stapy_kprobe_row *row = container_of(kp, struct stapy_kprobe_row, kp);
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	if (!is_meant(row, kp, regs) || !stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return 0;
	c->regs = regs;
	c->address = (unsigned long)kp->addr;
	stapy_hit_run(c, probe->handler);
	stapy_hit_leave(c);
	return 0;
}

/* Entry side of a return probe: saves values; nonzero gives the return up. */
static int STAPY_CALLBACK on_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct stapy_kprobe_row *row = container_of(get_kretprobe(ri), struct stapy_kprobe_row, rp);
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;
	bool failed;

	if (!is_meant(row, &row->rp.kp, regs))
		return 1;
	if (!probe->entry)
		return 0;
	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return 1;
	c->regs = regs;
	c->address = (unsigned long)row->rp.kp.addr;
	c->slots = ri->data;
	stapy_hit_run(c, probe->entry);
	failed = c->error;
	stapy_hit_leave(c);
	return failed;
}

static int STAPY_CALLBACK on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(ri);
	struct stapy_kprobe_row *row;
	struct stapy_probe *probe;
	struct stapy_context *c;

	/* The probe may be on its way out while a call still runs. */
	if (unlikely(!rp))
		return 0;
	row = container_of(rp, struct stapy_kprobe_row, rp);
	probe = row->site.probe;
	if (!stapy_hit_enter(&row->site, probe, STAPY_RUNNING, &c))
		return 0;
	c->regs = regs;
	c->address = (unsigned long)rp->kp.addr;
	c->slots = ri->data;
	c->is_return = true;
	stapy_hit_run(c, probe->handler);
	stapy_hit_leave(c);
	return 0;
}

/* ftrace does not tell about modules that come and go. */
static bool may_be_fentry(const struct stapy_kprobe_row *row)
{
	return !row->is_return && !row->offset && !row->module && !row->callers;
}

/* Give the kernel a fresh structure: a probe that was registered once leaves traces in it. */
static void prepare(struct stapy_kprobe_row *row, const char *name)
{
	struct kprobe *kp = row->is_return ? &row->rp.kp : &row->kp;

	if (row->is_return) {
		memset(&row->rp, 0, sizeof(row->rp));
		row->rp.handler = on_return;
		row->rp.entry_handler = row->site.probe->entry || row->callers ? on_call : NULL;
		row->rp.data_size = row->slot_bytes;
		row->rp.maxactive = row->maxactive > 0 ? row->maxactive :
				    max_t(int, 15, 6 * num_possible_cpus());
	} else {
		memset(&row->kp, 0, sizeof(row->kp));
		row->kp.pre_handler = on_entry;
		/* Arming it would be a waste when ftrace can take it over. */
		if (may_be_fentry(row))
			row->kp.flags = KPROBE_FLAG_DISABLED;
	}
	if (name) {
		kp->symbol_name = name;
		kp->offset = row->offset;
	} else {
		kp->addr = (kprobe_opcode_t *)row->address;
	}
}

static int arm(struct stapy_kprobe_row *row)
{
	const char *name = row->symbol;
	char *qualified = NULL;
	int r;

	if (row->symbol && row->module) {
		qualified = kmalloc(NAME_BYTES, GFP_KERNEL);
		if (!qualified)
			return -ENOMEM;
		snprintf(qualified, NAME_BYTES, "%s:%s", row->module, row->symbol);
		name = qualified;
	}
	prepare(row, name);
	r = row->is_return ? register_kretprobe(&row->rp) : register_kprobe(&row->kp);
	/* Only looked at while registering. */
	if (row->is_return)
		row->rp.kp.symbol_name = NULL;
	else
		row->kp.symbol_name = NULL;
	kfree(qualified);
	row->armed = !r;
	return r;
}

/* Missed hits survive a module's going away in here. */
static void add_missed(struct stapy_kprobe_row *row)
{
	row->missed += row->is_return ? row->rp.nmissed + row->rp.kp.nmissed : row->kp.nmissed;
}

/* Disarm the rows that `module` owns (NULL: all) with one wait for all of them. */
static void disarm(const char *module)
{
	struct kretprobe **returns = kvmalloc_array(nr_rows, sizeof(*returns), GFP_KERNEL);
	struct kprobe **entries = kvmalloc_array(nr_rows, sizeof(*entries), GFP_KERNEL);
	unsigned int i, nr_returns = 0, nr_entries = 0;

	if (!module)
		stapy_fentry_stop();
	for (i = 0; i < nr_rows; i++) {
		struct stapy_kprobe_row *row = &all_rows[i];

		if (!row->armed || (module && (!row->module || strcmp(row->module, module))))
			continue;
		add_missed(row);
		row->armed = false;
		if (row->is_return && returns)
			returns[nr_returns++] = &row->rp;
		else if (row->is_return)
			unregister_kretprobe(&row->rp);
		else if (entries)
			entries[nr_entries++] = &row->kp;
		else
			unregister_kprobe(&row->kp);
	}
	if (nr_returns)
		unregister_kretprobes(returns, nr_returns);
	if (nr_entries)
		unregister_kprobes(entries, nr_entries);
	kvfree(returns);
	kvfree(entries);
}

static void arm_module(const char *module)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_kprobe_row *row = &all_rows[i];
		int r;

		if (row->armed || !row->module || strcmp(row->module, module))
			continue;
		r = arm(row);
		if (r)
			stapy_warn("probe %s registration error (rc %d)", row->site.point, r);
	}
}

static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *module = data;

	mutex_lock(&mutex);
	if (arming && event == MODULE_STATE_COMING)
		arm_module(module->name);
	else if (arming && event == MODULE_STATE_GOING)
		disarm(module->name);
	mutex_unlock(&mutex);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

/* A probe none of whose places could be armed is of no use to the script. */
static int check_armed(const struct stapy_kprobe_row *row, int error)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].site.probe == row->site.probe && all_rows[i].armed)
			return 0;
	stapy_control("error", "probe %s registration error (rc %d)", row->site.point, error);
	return error;
}

/*
 * With a return probe at the same place there is a kprobe anyhow, and two users
 * of ftrace at one place cost more than one kprobe with two handlers.
 */
static bool has_return_probe(const kprobe_opcode_t *address)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].is_return && all_rows[i].armed && all_rows[i].rp.kp.addr == address)
			return true;
	return false;
}

static void enable(struct stapy_kprobe_row *row)
{
	row->fentry = false;
	row->error = enable_kprobe(&row->kp);
	if (!row->error)
		return;
	unregister_kprobe(&row->kp);
	row->armed = false;
}

/* Rows were registered without arming them: let ftrace have what it can, arm the others. */
static void arm_entries(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_kprobe_row *row = &all_rows[i];

		if (!row->armed || !may_be_fentry(row))
			continue;
		row->fentry = row->kp.flags & KPROBE_FLAG_FTRACE && !has_return_probe(row->kp.addr);
		if (!row->fentry)
			enable(row);
	}
	if (!stapy_fentry_start(all_rows, nr_rows))
		return;
	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].fentry)
			enable(&all_rows[i]);
}

static int arm_all(void)
{
	int first_error = 0, r;
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_kprobe_row *row = &all_rows[i];

		row->error = arm(row);
		/* The module may come later. */
		if (row->error == -ENOENT && row->module)
			row->error = 0;
	}
	arm_entries();
	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].error)
			stapy_warn("probe %s registration error (rc %d)", all_rows[i].site.point,
				   all_rows[i].error);
	for (i = 0; i < nr_rows && !first_error; i++) {
		r = all_rows[i].error;
		if (r && !all_rows[i].optional)
			first_error = check_armed(&all_rows[i], r);
	}
	return first_error;
}

static int start(void *rows, unsigned int count)
{
	int r;

	all_rows = rows;
	nr_rows = count;
	r = register_module_notifier(&module_notifier);
	if (r)
		return r;
	mutex_lock(&mutex);
	r = arm_all();
	arming = !r;
	if (r)
		disarm(NULL);
	mutex_unlock(&mutex);
	if (r)
		unregister_module_notifier(&module_notifier);
	return r;
}

static void stop(void *rows, unsigned int count)
{
	mutex_lock(&mutex);
	arming = false;
	disarm(NULL);
	mutex_unlock(&mutex);
	unregister_module_notifier(&module_notifier);
}

static void report(const struct stapy_kprobe_row *row)
{
	const char *what = "kprobe/1";
	unsigned long n = row->missed + (row->armed ? row->kp.nmissed : 0);

	if (row->is_return) {
		/* 1: no free instance, 2: the kprobe at the entry was not hit */
		if (row->armed && row->rp.nmissed)
			stapy_warn("Skipped due to missed kretprobe/1 on '%s': %d", row->site.point,
				   row->rp.nmissed);
		what = "kretprobe/2";
		n = row->missed + (row->armed ? row->rp.kp.nmissed : 0);
	}
	if (n)
		stapy_warn("Skipped due to missed %s on '%s': %lu", what, row->site.point, n);
}

static u64 missed(void *rows, unsigned int count)
{
	unsigned int i, reported = 0;
	u64 total = 0;

	mutex_lock(&mutex);
	for (i = 0; i < nr_rows; i++) {
		struct stapy_kprobe_row *row = &all_rows[i];
		u64 n = row->missed;

		if (row->armed)
			n += row->is_return ? row->rp.nmissed + row->rp.kp.nmissed :
			     row->kp.nmissed;
		if (n && reported++ < REPORTED)
			report(row);
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
};

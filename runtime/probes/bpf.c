// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Running BPF programs. Each JITed function begins with room for a call of the
 * trampoline that the kernel makes when a tracing program is attached to it. Ours are
 * attached in the same way: to the kernel they are programs without instructions,
 * whose code is the hooks of bpf_hit.c. So others may be attached as well, the kernel keeps
 * the count of tail calls, and a call that sleeps while we go away skips our part.
 */
#include "../hit.h"
#include "bpf_place.h"

#ifdef STAPY_BPF_PROBES

#define ARRIVAL_TURNS 50		/* of waiting for programs that are being loaded */
#define ARRIVAL_MS 20

static struct stapy_bpf_row *all_rows;
static unsigned int nr_rows;
static LIST_HEAD(places);
static u64 dropped;			/* hits missed at places that are gone */
static DEFINE_MUTEX(mutex);		/* of places */

const struct bpf_prog *stapy_bpf_program(const struct stapy_context *c)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].site.probe == c->site->probe)
			return ((const struct stapy_bpf_place *)c->data)->target;
	return NULL;
}

static void free_place(struct stapy_bpf_place *place)
{
	stapy_bpf_free_hook(place->entry);
	stapy_bpf_free_hook(place->exit);
	if (place->trampoline)
		stapy_bpf_release(place->trampoline);
	if (place->target)
		bpf_prog_put(place->target);
	kvfree(place->saved);
	kfree(place->site.point);
	kfree(place);
}

/* Calls whose entry was seen must not lack the other hook: they would never be given up. */
static void unlink_place(struct stapy_bpf_place *place)
{
	stapy_bpf_unlink_hook(place->entry, place->trampoline, place->target);
	stapy_bpf_unlink_hook(place->exit, place->trampoline, place->target);
	place->armed = false;
}

static int link_place(struct stapy_bpf_place *place)
{
	int r = stapy_bpf_make_hooks(place) ? 0 : -ENOMEM;

	r = r ?: stapy_bpf_trampoline(place->target, place->function, &place->trampoline);
	r = r ?: stapy_bpf_link_hook(place->exit, place->trampoline, place->target);
	r = r ?: stapy_bpf_link_hook(place->entry, place->trampoline, place->target);
	if (!r)
		return 0;
	if (place->exit && place->exit->linked) {
		unlink_place(place);
		stapy_bpf_wait();
	}
	return r;
}

static void arm(struct stapy_bpf_place *place)
{
	const struct bpf_prog *target = place->target;
	const char *why = stapy_bpf_refusal(target, place->function, place->row->is_return);
	int r = 0;

	if (!why) {
		r = link_place(place);
		why = stapy_bpf_reason(r);
	}
	place->armed = !why && !r;
	if (place->armed)
		return;
	if (why)
		stapy_warn("probe %s registration error: program %u: %s", place->site.point,
			   target->aux->id, why);
	else
		stapy_warn("probe %s registration error (rc %d)", place->site.point, r);
}

static bool is_known(const struct stapy_bpf_row *row, const struct bpf_prog *program)
{
	struct stapy_bpf_place *place;

	list_for_each_entry(place, &places, list)
		if (place->row == row && place->target == program)
			return true;
	return false;
}

static int add(struct stapy_bpf_row *row, struct bpf_prog *program, unsigned int function)
{
	struct stapy_bpf_place *place = kzalloc(sizeof(*place), GFP_KERNEL);

	if (!place)
		return -ENOMEM;
	place->row = row;
	place->site.probe = row->site.probe;
	place->site.point = stapy_bpf_point(row, program, function);
	if (!place->site.point) {
		kfree(place);
		return -ENOMEM;
	}
	bpf_prog_inc(program);
	place->target = program;
	place->function = function;
	place->address = (unsigned long)stapy_bpf_function(program, function)->bpf_func;
	list_add_tail(&place->list, &places);
	arm(place);
	return 0;
}

/* From the last row to the first: the kernel calls those first that came last. */
static int add_program(struct bpf_prog *program)
{
	unsigned int i, function;
	int r = 0;

	for (i = nr_rows; i-- && !r;) {
		struct stapy_bpf_row *row = &all_rows[i];

		if (!stapy_bpf_is_meant(row, program) || is_known(row, program))
			continue;
		for (function = 0; function < stapy_bpf_functions(program) && !r; function++)
			if (stapy_bpf_is_function_meant(row, program, function))
				r = add(row, program, function);
	}
	return r;
}

static bool is_wanted(const struct bpf_prog *program)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (stapy_bpf_is_meant(&all_rows[i], program) && !is_known(&all_rows[i], program))
			return true;
	return false;
}

/* Leave those for later that are still on their way to whoever loads them, if there is a later. */
static int add_those_there(bool *left)
{
	bool leave = *left;
	struct bpf_prog *program;
	int r = 0;

	*left = false;
	for (program = stapy_bpf_each(NULL); program; program = stapy_bpf_each(program)) {
		if (r)
			continue;
		if (stapy_state() != STAPY_RUNNING && stapy_interrupted())
			r = -EINTR;
		else if (leave && !stapy_bpf_is_loaded(program) && is_wanted(program))
			*left = true;
		else
			r = add_program(program);
	}
	return r;
}

/* One that never arrives, such as a user's without rights, is tried in the end: the reason is told. */
static int add_all(void)
{
	unsigned int turn;
	bool left = true;
	int r = 0;

	for (turn = 1; left && !r; turn++) {
		left = turn < ARRIVAL_TURNS;
		r = add_those_there(&left);
		if (left)
			msleep(ARRIVAL_MS);
	}
	return r;
}

/* References to a program that are ours. */
static long references(const struct bpf_prog *program)
{
	struct stapy_bpf_place *place;
	long n = 0;

	list_for_each_entry(place, &places, list)
		n += place->target == program;
	return n;
}

/* Let go of the programs that nobody else holds: they will not run any more. */
static void drop_unused(void)
{
	struct stapy_bpf_place *place, *next;
	bool any = false;
	LIST_HEAD(unused);

	list_for_each_entry(place, &places, list) {
		place->unused = atomic64_read(&place->target->aux->refcnt) ==
				references(place->target);
		any |= place->unused;
	}
	if (!any)
		return;
	list_for_each_entry_safe(place, next, &places, list)
		if (place->unused) {
			dropped += atomic_long_read(&place->missed);
			unlink_place(place);
			list_move_tail(&place->list, &unused);
		}
	stapy_bpf_wait();
	list_for_each_entry_safe(place, next, &unused, list)
		free_place(place);
}

static void look_again(struct work_struct *unused)
{
	mutex_lock(&mutex);
	drop_unused();
	if (stapy_state() <= STAPY_RUNNING)
		add_all();
	mutex_unlock(&mutex);
}

static DECLARE_WORK(look_again_work, look_again);

/* A program has got its number and is on its way to whoever loads it. */
static int STAPY_CALLBACK on_load(struct kprobe *kp, struct pt_regs *regs)
{
	queue_work(system_long_wq, &look_again_work);
	return 0;
}

static struct kprobe load_probe;
static bool watching;

static void watch_loads(void)
{
	int r;

	memset(&load_probe, 0, sizeof(load_probe));
	load_probe.symbol_name = "bpf_prog_kallsyms_add";
	load_probe.pre_handler = on_load;
	r = register_kprobe(&load_probe);
	watching = !r;
	if (r)
		stapy_warn("programs that are loaded later are not probed (rc %d)", r);
}

static bool any(const struct stapy_bpf_row *row)
{
	struct stapy_bpf_place *place;

	list_for_each_entry(place, &places, list)
		if (place->row == row)
			return true;
	return false;
}

static int check_names(void)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		const struct stapy_bpf_row *row = &all_rows[i];

		/* Of what was found and refused the reason has been told, as a warning. */
		if (row->optional || any(row))
			continue;
		stapy_bpf_no_match(row);
		return -ENOENT;
	}
	return 0;
}

static void stop(void *rows, unsigned int count)
{
	struct stapy_bpf_place *place, *next;

	if (watching)
		unregister_kprobe(&load_probe);
	watching = false;
	cancel_work_sync(&look_again_work);
	mutex_lock(&mutex);
	list_for_each_entry(place, &places, list)
		unlink_place(place);
	if (!list_empty(&places))
		stapy_bpf_wait();
	list_for_each_entry_safe(place, next, &places, list) {
		list_del(&place->list);
		free_place(place);
	}
	mutex_unlock(&mutex);
}

static int start(void *rows, unsigned int count)
{
	const char *missing = stapy_bpf_prepare();
	int r;

	if (missing) {
		stapy_control("error", "BPF programs cannot be probed: this kernel has no %s()", missing);
		return -EOPNOTSUPP;
	}
	all_rows = rows;
	nr_rows = count;
	/* What comes from here on is found twice rather than never. */
	watch_loads();
	mutex_lock(&mutex);
	r = add_all();
	r = r ?: check_names();
	mutex_unlock(&mutex);
	if (r)
		stop(rows, count);
	return r;
}

static u64 missed(void *rows, unsigned int count)
{
	struct stapy_bpf_place *place;
	u64 n;

	mutex_lock(&mutex);
	n = dropped;
	list_for_each_entry(place, &places, list)
		n += atomic_long_read(&place->missed);
	mutex_unlock(&mutex);
	return n;
}

#else

const struct bpf_prog *stapy_bpf_program(const struct stapy_context *c)
{
	return NULL;
}

static int start(void *rows, unsigned int count)
{
	stapy_control("error", "%s", "BPF programs cannot be probed: this kernel attaches nothing to them, or not in a way that is known");
	return -EOPNOTSUPP;
}

static void stop(void *rows, unsigned int count)
{
}

static u64 missed(void *rows, unsigned int count)
{
	return 0;
}

#endif

const struct stapy_family stapy_bpf = {
	.name = "bpf",
	.start = start,
	.stop = stop,
	.missed = missed,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Running BPF programs. Each JITed function begins with room for a call of the
 * trampoline that the kernel makes when a tracing program is attached to it. Ours are
 * attached in the same way: to the kernel they are programs without instructions,
 * whose code is the hooks below. So others may be attached as well, the kernel keeps
 * the count of tail calls, and a call that sleeps while we go away skips our part.
 */
#include "../hit.h"
#include "bpflink.h"
#include "bpfnames.h"

#ifdef STAPY_BPF_PROBES

#define ARRIVAL_TURNS 50		/* of waiting for programs that are being loaded */
#define ARRIVAL_MS 20

/* Values saved at the entry of a call, by the address of the trampoline's frame. */
struct saved {
	unsigned long frame;		/* 0: free */
	u64 values[];
};

/* One function of one program that one row means. */
struct place {
	struct list_head list;
	struct stapy_site site;		/* with a point of its own */
	const struct stapy_bpf_row *row;
	struct bpf_prog *target;	/* referenced */
	unsigned int function;
	unsigned long address;
	struct bpf_trampoline *trampoline;
	struct stapy_bpf_hook *entry, *exit;
	void *saved;
	size_t saved_bytes;		/* of one */
	unsigned int nr_saved;
	atomic_long_t missed;
	bool armed;			/* else it was refused, and is not tried again */
	bool unused;			/* nobody else has the program */
};

static struct stapy_bpf_row *all_rows;
static unsigned int nr_rows;
static LIST_HEAD(places);
static u64 dropped;			/* hits missed at places that are gone */
static DEFINE_MUTEX(mutex);		/* of places */

static __always_inline struct place *place_of(const struct bpf_insn *instructions)
{
	const void *program = (const void *)instructions - offsetof(struct bpf_prog, insnsi);

	return container_of(program, struct stapy_bpf_hook, program)->place;
}

static __always_inline struct stapy_context *enter(struct place *place, const u64 *frame,
						   unsigned long *words)
{
	unsigned int i, n = min_t(u64, frame[-1], STAPY_BPF_ARGS);
	struct stapy_context *c = stapy_hit_enter(NULL, &place->site, NULL, place->address);

	if (!c)
		return NULL;
	for (i = 0; i < STAPY_BPF_ARGS; i++)
		words[i] = i < n ? frame[i] : 0;
	c->args = words;
	c->data = place;
	c->slots = NULL;
	return c;
}

static unsigned int STAPY_CALLBACK on_entry(const void *frame, const struct bpf_insn *instructions)
{
	struct place *place = place_of(instructions);
	unsigned long words[STAPY_BPF_WORDS];
	struct stapy_context *c = enter(place, frame, words);

	if (c) {
		stapy_hit_run(c, place->site.probe->handler);
		stapy_hit_leave(c);
	}
	return 0;
}

static __always_inline struct saved *saved_at(struct place *place, unsigned int at)
{
	return place->saved + (at % place->nr_saved) * place->saved_bytes;
}

/* What `wanted` has saved; with 0 a free one, which is then for `frame`. */
static __always_inline struct saved *find_saved(struct place *place, unsigned long frame,
						unsigned long wanted)
{
	unsigned int i, first = (frame * STAPY_MIX) >> 32;

	for (i = 0; i < place->nr_saved; i++) {
		struct saved *saved = saved_at(place, first + i);

		if (READ_ONCE(saved->frame) != wanted)
			continue;
		if (wanted || !cmpxchg(&saved->frame, 0, frame))
			return saved;
	}
	return NULL;
}

/* A call whose return will be of interest. */
static unsigned int STAPY_CALLBACK on_call(const void *frame, const struct bpf_insn *instructions)
{
	struct place *place = place_of(instructions);
	unsigned long words[STAPY_BPF_WORDS];
	struct saved *saved;
	struct stapy_context *c;
	bool failed = true;

	/* One that never returned to us had its frame at the same address. */
	saved = find_saved(place, (unsigned long)frame, (unsigned long)frame) ?:
		find_saved(place, (unsigned long)frame, 0);
	if (unlikely(!saved)) {
		atomic_long_inc(&place->missed);
		return 0;
	}
	c = enter(place, frame, words);
	if (c) {
		c->slots = saved->values;
		c->at_entry = true;
		stapy_hit_run(c, place->site.probe->entry);
		failed = c->error;
		stapy_hit_leave(c);
	}
	if (failed)
		smp_store_release(&saved->frame, 0);
	return 0;
}

static unsigned int STAPY_CALLBACK on_return(const void *at, const struct bpf_insn *instructions)
{
	struct place *place = place_of(instructions);
	unsigned long words[STAPY_BPF_WORDS];
	struct saved *saved = NULL;
	struct stapy_context *c;
	const u64 *frame = at;

	if (place->saved) {
		saved = find_saved(place, (unsigned long)at, (unsigned long)at);
		if (!saved)
			return 0;
	}
	c = enter(place, frame, words);
	if (c) {
		words[STAPY_BPF_RESULT] = frame[frame[-1]];
		c->slots = saved ? saved->values : NULL;
		c->is_return = true;
		stapy_hit_run(c, place->site.probe->handler);
		c->is_return = false;
		stapy_hit_leave(c);
	}
	if (saved)
		smp_store_release(&saved->frame, 0);
	return 0;
}

const struct bpf_prog *stapy_bpf_program(const struct stapy_context *c)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].site.probe == c->site->probe)
			return ((const struct place *)c->data)->target;
	return NULL;
}

static void free_place(struct place *place)
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

static bool fill_hooks(struct place *place)
{
	const struct stapy_bpf_row *row = place->row;
	bool saves = row->is_return && row->site.probe->entry;

	if (row->is_return)
		place->exit = stapy_bpf_make_hook(place, BPF_TRACE_FEXIT, on_return);
	if (!row->is_return || saves)
		place->entry = stapy_bpf_make_hook(place, BPF_TRACE_FENTRY, saves ? on_call : on_entry);
	if (saves) {
		place->nr_saved = max_t(unsigned int, 15, 6 * num_possible_cpus());
		place->saved_bytes = sizeof(struct saved) + ALIGN(row->slot_bytes, sizeof(u64));
		place->saved = stapy_alloc(place->nr_saved, place->saved_bytes);
	}
	return !(row->is_return && !place->exit) && !((!row->is_return || saves) && !place->entry) &&
	       !(saves && !place->saved);
}

/* Calls whose entry was seen must not lack the other hook: they would never be given up. */
static void unlink_place(struct place *place)
{
	stapy_bpf_unlink_hook(place->entry, place->trampoline, place->target);
	stapy_bpf_unlink_hook(place->exit, place->trampoline, place->target);
	place->armed = false;
}

static int link_place(struct place *place)
{
	int r = fill_hooks(place) ? 0 : -ENOMEM;

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

static void arm(struct place *place)
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
	struct place *place;

	list_for_each_entry(place, &places, list)
		if (place->row == row && place->target == program)
			return true;
	return false;
}

static int add(struct stapy_bpf_row *row, struct bpf_prog *program, unsigned int function)
{
	struct place *place = kzalloc(sizeof(*place), GFP_KERNEL);

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
	struct place *place;
	long n = 0;

	list_for_each_entry(place, &places, list)
		n += place->target == program;
	return n;
}

/* Let go of the programs that nobody else holds: they will not run any more. */
static void drop_unused(void)
{
	struct place *place, *next;
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
	struct place *place;

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
	struct place *place, *next;

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
	struct place *place;
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

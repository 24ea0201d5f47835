// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel's trampolines call where BPF programs are probed. */
#include "../hit.h"
#include "bpf_place.h"

#ifdef STAPY_BPF_PROBES

/* Values saved at the entry of a call, by the address of the trampoline's frame. */
struct saved {
	unsigned long frame;		/* 0: free */
	u64 values[];
};

static __always_inline struct stapy_bpf_place *place_of(const struct bpf_insn *instructions)
{
	const void *program = (const void *)instructions - offsetof(struct bpf_prog, insnsi);

	return container_of(program, struct stapy_bpf_hook, program)->place;
}

static __always_inline struct stapy_context *enter(struct stapy_bpf_place *place, const u64 *frame,
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
	struct stapy_bpf_place *place = place_of(instructions);
	unsigned long words[STAPY_BPF_WORDS];
	struct stapy_context *c = enter(place, frame, words);

	if (c) {
		stapy_hit_run(c, place->site.probe->handler);
		stapy_hit_leave(c);
	}
	return 0;
}

static __always_inline struct saved *saved_at(struct stapy_bpf_place *place, unsigned int at)
{
	return place->saved + (at % place->nr_saved) * place->saved_bytes;
}

/* What `wanted` has saved; with 0 a free one, which is then for `frame`. */
static __always_inline struct saved *find_saved(struct stapy_bpf_place *place, unsigned long frame,
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
	struct stapy_bpf_place *place = place_of(instructions);
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
	struct stapy_bpf_place *place = place_of(instructions);
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

bool stapy_bpf_make_hooks(struct stapy_bpf_place *place)
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

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings' writer side, and their memory. */
#include "../internal.h"

#define SMALL 64			/* this part of what is free */

/*
 * What a print writes at most, with what is in its record already: nobody can interrupt it, and a
 * width may be any number. Begin and end probes have reports, and nobody waits for them.
 */
#define MOST_OF_HIT (1UL << 20)
#define MOST_OF_REPORT (16UL << 20)

/* So many bytes of a print cost as much as a statement. */
#define BYTES_PER_ACTION 8192

static size_t ring_bytes;
/* A record is committed at the next print when it has grown to this: to 0 where each print is one. */
static size_t most_bytes = STAPY_RECORD_PIECE;
static bool wanted;			/* CPUs that come get rings */
static DEFINE_MUTEX(mutex);		/* of making and freeing them */

/* While nobody is attached: the oldest records give way to new ones. */
static bool overwriting;

/* A reader that did not come for so long, with output waiting for it as long, has stopped. */
#define STOPPED_NS NSEC_PER_SEC

/* Records that one hit gives up at most; more than a hit of usual length writes over. */
#define MOST_GIVEN_UP 1024

/* A record has some text: giving up no more of them than that makes room for so many bytes. */
#define MOST_FOR(bytes) ((bytes) / (sizeof(struct stapy_record) + 8) + 1)

/* What a record needs beside its text: its header, and rounding up to the next one. */
#define AROUND_TEXT (sizeof(struct stapy_record) + 8)

/* Stands for the ring of a CPU that has none: nothing fits. */
static char no_room[1];

static void ring_free(struct stapy_ring *r)
{
	unsigned int n = ring_bytes >> PAGE_SHIFT, i;

	if (!r->pages)
		return;
	vunmap(r->base);
	for (i = 0; i < n && r->pages[i]; i++)
		__free_page(r->pages[i]);
	kvfree(r->pages);
	r->base = NULL;
	r->pages = NULL;
	r->head = r->tail = r->tail_seen = r->limit = 0;
	r->done = 0;
	r->marked = false;
	r->overwritten = r->passed = 0;
	r->passed_why = 0;
}

static int ring_alloc(struct stapy_ring *r, int cpu)
{
	unsigned int n = ring_bytes >> PAGE_SHIFT, i;

	if (r->base)
		return 0;
	r->pages = stapy_alloc(2 * n, sizeof(*r->pages));
	for (i = 0; r->pages && i < n; i++) {
		r->pages[i] = alloc_pages_node(cpu_to_node(cpu), STAPY_GFP | __GFP_ZERO, 0);
		if (!r->pages[i])
			break;
		r->pages[n + i] = r->pages[i];
	}
	if (r->pages && i == n)
		/* A handler on this CPU must see the ring whole or not at all. */
		smp_store_release(&r->base, vmap(r->pages, 2 * n, VM_MAP, PAGE_KERNEL));
	if (r->base)
		return 0;
	ring_free(r);
	return -ENOMEM;
}

/* Megabytes per CPU; the consumer's -b, in place of what the module was built with. */
static unsigned int stapy_buffer_mb;
module_param(stapy_buffer_mb, uint, 0);

void stapy_rings_size(void)
{
	size_t built_for = stapy_session.limits.buffer_bytes ?: 2 << 20;
	size_t asked = stapy_buffer_mb ? (size_t)stapy_buffer_mb << 20 : built_for;
	size_t least = max_t(size_t, asked, 4 * STAPY_RECORD_PIECE);

	ring_bytes = roundup_pow_of_two(PAGE_ALIGN(least));
	if (stapy_session.records)
		most_bytes = 0;
}

/*
 * Rings of the CPUs that are there. One that comes later gets its ring a moment after; when
 * they are small, those that are off have one already, and lose nothing.
 */
int stapy_rings_alloc(void)
{
	u64 off = (u64)(num_present_cpus() - num_online_cpus()) * ring_bytes;
	bool ahead = off <= stapy_memory_free() / SMALL;
	int cpu, r, error = 0;

	mutex_lock(&mutex);
	for_each_present_cpu(cpu) {
		bool online = cpu_online(cpu);

		if (error || !(online || ahead))
			continue;
		r = ring_alloc(&per_cpu_ptr(stapy_cpus, cpu)->ring, cpu);
		if (online)
			error = r;
	}
	wanted = !error;
	mutex_unlock(&mutex);
	return error;
}

/* Others may be short of memory by now: not a page is taken where there is too little. */
static int late_alloc(struct stapy_ring *r, int cpu)
{
	if (!r->base && !stapy_memory_allows(ring_bytes))
		return -ENOMEM;
	return ring_alloc(r, cpu);
}

bool stapy_rings_complete(void)
{
	static cpumask_t told;
	bool complete = true;
	int cpu;

	mutex_lock(&mutex);
	for_each_online_cpu(cpu) {
		if (!wanted || !late_alloc(&per_cpu_ptr(stapy_cpus, cpu)->ring, cpu))
			continue;
		complete = false;
		if (!cpumask_test_and_set_cpu(cpu, &told))
			stapy_warn("CPU %d has come and there is no memory for its output buffer of %zu MB (-s, -b): what it prints is lost until there is",
				   cpu, max_t(size_t, ring_bytes >> 20, 1));
	}
	mutex_unlock(&mutex);
	return complete;
}

void stapy_rings_free(void)
{
	int cpu;

	mutex_lock(&mutex);
	wanted = false;
	for_each_possible_cpu(cpu) {
		ring_free(&per_cpu_ptr(stapy_cpus, cpu)->ring);
		per_cpu_ptr(stapy_cpus, cpu)->ring.lost = 0;
		per_cpu_ptr(stapy_cpus, cpu)->ring.lost_why = 0;
	}
	stapy_rings_forget();
	mutex_unlock(&mutex);
}

u64 stapy_rings_failures(void)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(stapy_cpus, cpu)->ring.failures);
	return n;
}

u64 stapy_rings_lost(enum stapy_loss why)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(stapy_cpus, cpu)->ring.losses[why]);
	return n;
}

void stapy_rings_overwrite(bool on)
{
	WRITE_ONCE(overwriting, on);
}

/* So much room is made at a time. */
static u64 made_of_room(void)
{
	return max_t(u64, 2 * STAPY_RECORD_PIECE, ring_bytes / 8);
}

/*
 * Make room by giving up the oldest records, whole ones, and count them: so many at most. Nobody
 * waits here: while a reader has the ring nothing is given up, and what does not fit is lost as usual.
 */
static noinline void give_up_oldest(struct stapy_ring *r, u64 wanted, u64 most)
{
	u64 tail, n;

	if (atomic_cmpxchg_acquire(&r->claimed, 0, 1))
		return;
	tail = r->tail;
	for (n = 0; n < most && tail != r->head && ring_bytes - (r->head - tail) < wanted; n++) {
		const struct stapy_record *record =
			(struct stapy_record *)(r->base + (tail & (ring_bytes - 1)));

		if (!r->marked) {
			r->passed += record->lost_bytes;
			r->passed_why |= record->lost_why;
		}
		r->overwritten += record->length - r->done;
		r->done = 0;
		r->marked = false;
		tail += stapy_record_bytes(record);
	}
	r->tail_seen = tail;
	WRITE_ONCE(r->tail, tail);
	atomic_set_release(&r->claimed, 0);
}

/* Too little room as far as the writer knows: how much there is in truth. */
static noinline u64 look_for_room(struct stapy_ring *r)
{
	u64 room;

	/* Pairs with the release in the reader: it has finished with those bytes. */
	r->tail_seen = smp_load_acquire(&r->tail);
	room = ring_bytes - (r->head - r->tail_seen);
	if (room < 2 * STAPY_RECORD_PIECE && READ_ONCE(overwriting)) {
		give_up_oldest(r, made_of_room(), MOST_GIVEN_UP);
		room = ring_bytes - (r->head - r->tail_seen);
	}
	return room;
}

static __always_inline u64 most_room(const struct stapy_cpu *cpu)
{
	return cpu->c.interruptible ? MOST_OF_REPORT : MOST_OF_HIT;
}

/* Where the text of the open record must end, with so much room from its header on. */
static __always_inline void set_end(struct stapy_cpu *cpu, u64 room)
{
	/* Room for the header and for rounding up to the next one. */
	cpu->c.out.end = cpu->record + (room > AROUND_TEXT ? min(room - AROUND_TEXT, most_room(cpu)) : 0);
}

/*
 * A print that grows beyond the room that was there when its record was opened: while the oldest
 * gives way, it does so for all that the ring can hold, and for a piece of what comes next. Not for
 * an eighth of the ring as at the beginning of a record: a large ring of short records would be walked
 * for milliseconds by a print of some kilobytes.
 */
size_t stapy_print_room(struct stapy_out *o, size_t bytes)
{
	struct stapy_cpu *cpu;
	struct stapy_ring *r;
	u64 wanted;

	/* A print, or a hit, of which something is lost already is not made whole by more room. */
	if (!READ_ONCE(overwriting) || o->lost)
		return o->end - o->at;
	cpu = raw_cpu_ptr(stapy_cpus);
	r = &cpu->ring;
	if (o != &cpu->c.out || !r->base || o->end == cpu->record) /* a string; nowhere to print to */
		return o->end - o->at;
	wanted = o->at - cpu->record + (u64)bytes + AROUND_TEXT;
	if (wanted <= ring_bytes && wanted - AROUND_TEXT <= most_room(cpu)) {
		wanted += 2 * STAPY_RECORD_PIECE;
		give_up_oldest(r, min_t(u64, wanted, ring_bytes), MOST_FOR(wanted));
		r->tail_seen = smp_load_acquire(&r->tail);
		set_end(cpu, ring_bytes - (r->head - r->tail_seen));
	}
	return o->end - o->at;
}

static noinline void put_kind(struct stapy_out *o)
{
	stapy_out_text(o, (const char []){ STAPY_PRINT_TEXT }, 1);
}

/* Begin a record: text goes straight into the ring, the header is written by the commit. */
static __always_inline void record_open(struct stapy_cpu *cpu)
{
	struct stapy_ring *r = &cpu->ring;
	struct stapy_out *o = &cpu->c.out;
	u64 room;

	cpu->c.printed = true;
	o->lost = 0;
	if (unlikely(!r->base)) {
		o->at = cpu->record = o->end = no_room;
		return;
	}
	room = ring_bytes - (r->head - r->tail_seen);
	if (unlikely(room < 2 * STAPY_RECORD_PIECE))
		room = look_for_room(r);
	/*
	 * The reader must not pass over a record that was stamped but is not
	 * visible yet: it stays below the open one. The barrier keeps the stamp
	 * behind the announcement. Stamped now, and not when it is closed, the
	 * record has the order of the locks that the handler holds.
	 */
	WRITE_ONCE(r->open, STAPY_RING_STAMPING);
	smp_mb();
	WRITE_ONCE(r->open, stapy_stamp());
	cpu->record = r->base + (r->head & (ring_bytes - 1)) + sizeof(struct stapy_record);
	o->at = cpu->record;
	set_end(cpu, room);
	if (unlikely(!most_bytes))
		put_kind(o);
}

static __always_inline void record_close(struct stapy_cpu *cpu)
{
	struct stapy_ring *r = &cpu->ring;
	u32 length = cpu->c.out.at - cpu->record, lost = 0, why = 0;
	struct stapy_record *header;

	cpu->c.out.at = NULL;
	if (likely(length)) {
		header = (struct stapy_record *)(cpu->record - sizeof(*header));
		/* More than a record can tell is told by the next ones. */
		if (unlikely(r->lost)) {
			lost = min_t(u64, r->lost, STAPY_RECORD_LOST);
			why = r->lost_why;
			r->lost -= lost;
			if (!r->lost)
				r->lost_why = 0;
		}
		*header = (struct stapy_record){ r->open, length, lost, why };
		smp_store_release(&r->head, r->head + ALIGN(sizeof(*header) + length, 8));
	}
	smp_store_release(&r->open, 0);
}

void stapy_ring_commit(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);

	/* A print that an error cut short is taken back. */
	if (unlikely(cpu->mark)) {
		c->out.at = cpu->mark;
		cpu->mark = NULL;
	}
	record_close(cpu);
}

static noinline void next_record(struct stapy_cpu *cpu)
{
	record_close(cpu);
	record_open(cpu);
}

/* Never below 0, where the next statement ends the hit: there is no way out of here for an error. */
static noinline void charge(struct stapy_context *c, u64 bytes)
{
	c->actions = max_t(s64, c->actions - (s64)(bytes / BYTES_PER_ACTION), min(c->actions, 0));
	c->eventful = true;
}

struct stapy_out *stapy_print_begin(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	struct stapy_out *o = &c->out;

	if (likely(!o->at)) {
		record_open(cpu);
	} else if (unlikely(cpu->mark)) {
		/* An error cut a print short and was caught: its text is taken back, its cost is not. */
		if (o->at - cpu->mark >= BYTES_PER_ACTION)
			charge(c, o->at - cpu->mark);
		o->at = cpu->mark;
		o->lost = 0;
		if (!most_bytes && o->at > cpu->record)
			*cpu->record = STAPY_PRINT_TEXT;
	} else if (unlikely(o->at - cpu->record >= most_bytes)) {
		next_record(cpu);
	}
	cpu->mark = o->at;
	return o;
}

/*
 * Why this print found no room. What waits for the reader is looked at by its stamp: nothing but this
 * writer ever writes there. A reader that comes rarely because little is printed has not stopped.
 */
static enum stapy_loss why_lost(const struct stapy_cpu *cpu, u64 bytes)
{
	const struct stapy_ring *r = &cpu->ring;
	bool gives_way = READ_ONCE(overwriting);
	u64 now = stapy_stamp(), tail = READ_ONCE(r->tail);

	if (!r->base)
		return STAPY_LOSS_NO_BUFFER;
	if (cpu->c.out.at - cpu->record + cpu->c.out.lost > most_room(cpu))
		return STAPY_LOSS_LIMIT;
	if (bytes + AROUND_TEXT > ring_bytes)
		return STAPY_LOSS_LONG;
	if (gives_way)
		return STAPY_LOSS_HELD;
	if (tail == r->head || READ_ONCE(r->visited) + STOPPED_NS > now)
		return STAPY_LOSS_SLOW;
	return ((struct stapy_record *)(r->base + (tail & (ring_bytes - 1))))->stamp + STOPPED_NS > now ?
	       STAPY_LOSS_SLOW : STAPY_LOSS_STOPPED;
}

static void count_lost(struct stapy_cpu *cpu, u64 bytes, bool goes_on)
{
	struct stapy_ring *r = &cpu->ring;

	/* What else a hit prints is lost for the reason that its first loss had. */
	if (!goes_on || !r->open || r->last_lost != r->open)
		r->last_why = why_lost(cpu, bytes);
	r->last_lost = r->open;
	r->lost += bytes;
	r->lost_why |= BIT(r->last_why);
	r->losses[r->last_why] += bytes;
	r->failures++;
}

/*
 * A print that did not fit is dropped whole. What else the same hit printed
 * goes with it, so that no reader sees half of a hit's text, except in begin
 * and end probes, whose reports may be larger than the ring.
 */
static void drop(struct stapy_cpu *cpu)
{
	struct stapy_out *o = &cpu->c.out;
	char *from = cpu->c.interruptible ? cpu->mark : cpu->record;

	count_lost(cpu, o->at - from + o->lost, o->end == from);
	o->at = from;
	o->lost = 0;
	if (!cpu->c.interruptible)
		o->end = from;
}

void stapy_print_end(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	u64 bytes = c->out.at - cpu->mark;

	if (unlikely(bytes >= BYTES_PER_ACTION))
		charge(c, bytes);
	if (unlikely(c->out.lost))
		drop(cpu);
	cpu->mark = NULL;
}

size_t stapy_ring_bytes(void)
{
	return ring_bytes;
}

bool stapy_ring_is_roomy(struct stapy_context *c, size_t bytes)
{
	const struct stapy_ring *r = &container_of(c, struct stapy_cpu, c)->ring;

	return r->head - READ_ONCE(r->tail) + bytes < ring_bytes / 2;
}

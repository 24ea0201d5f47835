// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings' writer side, and their memory. */
#include "../internal.h"

static enum cpuhp_state hotplug_state;
static size_t ring_bytes;

/* Stands for the ring of a CPU that has none: nothing fits. */
static char no_room[1];

static int ring_alloc(struct stapy_ring *r, int cpu)
{
	unsigned int n = ring_bytes >> PAGE_SHIFT, i;

	if (r->base)
		return 0;
	r->pages = kvcalloc(2 * n, sizeof(*r->pages), GFP_KERNEL);
	if (!r->pages)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		r->pages[i] = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_ZERO, 0);
		if (!r->pages[i])
			return -ENOMEM;
		r->pages[n + i] = r->pages[i];
	}
	/* A handler on this CPU must see the ring whole or not at all. */
	smp_store_release(&r->base, vmap(r->pages, 2 * n, VM_MAP, PAGE_KERNEL));
	return r->base ? 0 : -ENOMEM;
}

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
}

static int cpu_prepare(unsigned int cpu)
{
	return ring_alloc(&per_cpu_ptr(stapy_cpus, cpu)->ring, cpu);
}

/* Megabytes per CPU; the consumer's -b, in place of what the module was built with. */
static unsigned int stapy_buffer_mb;
module_param(stapy_buffer_mb, uint, 0);

/* Rings of the CPUs that are there; one that comes later gets its ring then. */
int stapy_rings_alloc(void)
{
	size_t asked = stapy_buffer_mb ? (size_t)stapy_buffer_mb << 20 : stapy_session.limits.buffer_bytes;
	size_t wanted = max_t(size_t, asked, 4 * STAPY_RECORD_PIECE);
	int r;

	ring_bytes = roundup_pow_of_two(PAGE_ALIGN(wanted));
	r = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "stapy:prepare", cpu_prepare, NULL);
	if (r < 0)
		return r;
	hotplug_state = r;
	return 0;
}

void stapy_rings_free(void)
{
	int cpu;

	if (hotplug_state)
		cpuhp_remove_state_nocalls(hotplug_state);
	hotplug_state = 0;
	for_each_possible_cpu(cpu)
		ring_free(&per_cpu_ptr(stapy_cpus, cpu)->ring);
}

u64 stapy_rings_failures(void)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(stapy_cpus, cpu)->ring.failures);
	return n;
}

/* Begin a record: text goes straight into the ring, the header is written by the commit. */
static void record_open(struct stapy_cpu *cpu)
{
	struct stapy_ring *r = &cpu->ring;
	struct stapy_out *o = &cpu->c.out;
	u64 room;

	cpu->c.eventful = true;
	o->lost = 0;
	if (unlikely(!r->base)) {
		o->at = cpu->record = o->end = no_room;
		return;
	}
	room = ring_bytes - (r->head - r->tail_seen);
	if (room < 2 * STAPY_RECORD_PIECE) {
		/* Pairs with the release in the reader: it has finished with those bytes. */
		r->tail_seen = smp_load_acquire(&r->tail);
		room = ring_bytes - (r->head - r->tail_seen);
	}
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
	/* Room for the header and for rounding up to the next one. */
	o->end = room > sizeof(struct stapy_record) + 8 ?
		 cpu->record + (room - sizeof(struct stapy_record) - 8) : o->at;
}

static void record_close(struct stapy_cpu *cpu)
{
	struct stapy_ring *r = &cpu->ring;
	u32 length = cpu->c.out.at - cpu->record;
	struct stapy_record *header;

	cpu->c.out.at = NULL;
	if (length) {
		header = (struct stapy_record *)(cpu->record - sizeof(*header));
		header->stamp = r->open;
		header->length = length;
		header->lost = min_t(u64, r->lost, U32_MAX);
		r->lost = 0;
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

struct stapy_out *stapy_print_begin(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);
	struct stapy_out *o = &c->out;

	if (!o->at) {
		record_open(cpu);
	} else if (unlikely(cpu->mark)) {
		o->at = cpu->mark;
		o->lost = 0;
	} else if (unlikely(o->at - cpu->record >= STAPY_RECORD_PIECE)) {
		record_close(cpu);
		record_open(cpu);
	}
	cpu->mark = o->at;
	return o;
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

	cpu->ring.lost += o->at - from + o->lost;
	cpu->ring.failures++;
	o->at = from;
	o->lost = 0;
	if (!cpu->c.interruptible)
		o->end = from;
}

void stapy_print_end(struct stapy_context *c)
{
	struct stapy_cpu *cpu = container_of(c, struct stapy_cpu, c);

	if (unlikely(c->out.lost))
		drop(cpu);
	cpu->mark = NULL;
}

size_t stapy_ring_bytes(void)
{
	return ring_bytes;
}

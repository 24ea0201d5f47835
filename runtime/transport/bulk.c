// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of one ring in bulk mode. The caller has the files' mutex. */
#include "../internal.h"

/* A header for the record at the tail; what it tells as missing is told once. */
static struct stapy_bulk header_of(struct stapy_ring *r, const struct stapy_record *record, size_t length)
{
	return (struct stapy_bulk){
		.magic = STAPY_BULK_MAGIC,
		.length = length,
		.stamp = record->stamp,
		.lost = r->marked ? 0 : r->passed + record->lost_bytes,
		.overwritten = r->overwritten,
		.why = r->marked ? 0 : r->passed_why | record->lost_why,
	};
}

/*
 * Copy the rest of the record at the tail, or in a buffer where nothing else is as much as has
 * room; 0 when there is none, negative on a fault.
 */
static ssize_t copy_piece(struct stapy_ring *r, char __user *to, size_t bytes, bool alone)
{
	struct stapy_record *record =
		(struct stapy_record *)(r->base + (r->tail & (stapy_ring_bytes() - 1)));
	size_t n = record->length - r->done;
	struct stapy_bulk header;

	if (bytes < sizeof(header) + ALIGN(n, 8)) {
		if (!alone)
			return 0;
		if (bytes < sizeof(header) + 8)
			return -EINVAL;
		n = (bytes - sizeof(header)) & ~7UL;
	}
	header = header_of(r, record, n);
	if (copy_to_user(to, &header, sizeof(header)) ||
	    copy_to_user(to + sizeof(header), (char *)(record + 1) + r->done, ALIGN(n, 8)))
		return -EFAULT;
	r->overwritten = r->passed = 0;
	r->passed_why = 0;
	r->marked = true;
	r->done += n;
	if (r->done == record->length) {
		r->done = 0;
		r->marked = false;
		/* Pairs with the acquire in the writer: the bytes may be written again. */
		smp_store_release(&r->tail, r->tail + stapy_record_bytes(record));
	}
	return sizeof(header) + ALIGN(n, 8);
}

/* After the session: a piece without text for losses that no later record could report. */
static ssize_t copy_last_loss(struct stapy_ring *r, char __user *to, size_t bytes)
{
	struct stapy_bulk header = {
		.magic = STAPY_BULK_MAGIC,
		.stamp = stapy_stamp(),
		.lost = r->passed + r->lost,
		.overwritten = r->overwritten,
		.why = r->passed_why | r->lost_why,
	};

	if (!header.lost && !header.overwritten)
		return 0;
	if (bytes < sizeof(header))
		return -EINVAL;
	if (copy_to_user(to, &header, sizeof(header)))
		return -EFAULT;
	r->lost = r->passed = r->overwritten = 0;
	r->lost_why = r->passed_why = 0;
	return sizeof(header);
}

ssize_t stapy_ring_read_bulk(int cpu, char __user *to, size_t bytes, bool *more)
{
	struct stapy_ring *r = &per_cpu_ptr(stapy_cpus, cpu)->ring;
	/* Read before the head is: what comes after the end cannot be missed. */
	bool last = stapy_state() == STAPY_STOPPED;
	size_t copied = 0;
	ssize_t n = 0;
	u64 limit;

	*more = false;
	stapy_ring_claim(r);
	limit = smp_load_acquire(&r->head);
	while (r->base && r->tail != limit) {
		n = copy_piece(r, to + copied, bytes - copied, !copied);
		*more = !n;
		if (n <= 0)
			break;
		copied += n;
	}
	if (!copied && !n && last)
		n = copy_last_loss(r, to, bytes);
	stapy_ring_release(r);
	return copied ?: n;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The rings' reader: one text in the order of time out of all CPUs. The caller has the files' mutex. */
#include "../internal.h"

#define MARK_BYTES 256			/* with the texts of all causes */
#define SHORT_MARK_BYTES 64		/* with none */

/* The ring whose record was read only in part: it goes first, unless it was given up since. */
static int partial = -1;

void stapy_rings_forget(void)
{
	partial = -1;
}

static struct stapy_ring *ring_of(int cpu)
{
	return &per_cpu_ptr(stapy_cpus, cpu)->ring;
}

static struct stapy_record *record_at_tail(struct stapy_ring *r, size_t mask)
{
	return (struct stapy_record *)(r->base + (r->tail & mask));
}

bool stapy_ring_readable(int cpu)
{
	struct stapy_ring *r = ring_of(cpu);

	return smp_load_acquire(&r->head) != READ_ONCE(r->tail);
}

bool stapy_ring_filling(int cpu)
{
	struct stapy_ring *r = ring_of(cpu);

	return smp_load_acquire(&r->head) - READ_ONCE(r->tail) > stapy_ring_bytes() / 4;
}

bool stapy_rings_readable(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (stapy_ring_readable(cpu))
			return true;
	return false;
}

bool stapy_rings_filling(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (stapy_ring_filling(cpu))
			return true;
	return false;
}

/*
 * Everything that was stamped up to the time returned is below the limits.
 * A record that is open holds back what was stamped after it.
 */
static u64 take_snapshot(void)
{
	u64 before = stapy_stamp(), open;
	int cpu, tries;

	smp_mb();
	for_each_possible_cpu(cpu) {
		struct stapy_ring *r = ring_of(cpu);

		/* Taking a stamp needs some ten instructions; a stopped virtual CPU is not waited for for ever. */
		for (tries = 0; (open = smp_load_acquire(&r->open)) == STAPY_RING_STAMPING && tries < 2000;
		     tries++) {
			if (tries < 1000)
				cpu_relax();
			else
				usleep_range(20, 50);
		}
		if (open > STAPY_RING_STAMPING)
			before = min(before, open - 1);
		r->limit = smp_load_acquire(&r->head);
	}
	return before;
}

/* The CPU with the oldest record, -1 when there is none; next: the time up to which it stays so. */
static int oldest(u64 now, size_t mask, u64 *next)
{
	u64 first = U64_MAX;
	int cpu, found = -1;

	*next = now;
	for_each_possible_cpu(cpu) {
		struct stapy_ring *r = ring_of(cpu);
		u64 stamp;

		if (r->tail == r->limit)
			continue;
		stamp = record_at_tail(r, mask)->stamp;
		if (stamp > now)
			continue;
		if (stamp < first) {
			if (found >= 0)
				*next = min(*next, first);
			first = stamp;
			found = cpu;
		} else {
			*next = min(*next, stamp);
		}
	}
	return found;
}

void stapy_ring_claim(struct stapy_ring *r)
{
	int tries;

	for (tries = 0; atomic_cmpxchg_acquire(&r->claimed, 0, 1); tries++) {
		if (tries < 1000)
			cpu_relax();
		else
			usleep_range(20, 50);
	}
}

void stapy_ring_release(struct stapy_ring *r)
{
	WRITE_ONCE(r->visited, stapy_stamp());
	atomic_set_release(&r->claimed, 0);
}

static void claim_rings(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		stapy_ring_claim(ring_of(cpu));
}

static void release_rings(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		stapy_ring_release(ring_of(cpu));
}

static ssize_t copy_mark(char __user *to, size_t bytes, const char *what, u64 missing, int cpu, u32 why)
{
	char text[MARK_BYTES];
	size_t n = scnprintf(text, sizeof(text), "[%s %llu bytes on cpu %d", what, missing, cpu);

	/* Who reads with a small buffer is not told why. */
	if (bytes >= MARK_BYTES)
		n += stapy_loss_texts(text + n, sizeof(text) - n, why);
	n += scnprintf(text + n, sizeof(text) - n, "]\n");
	n = min(n, bytes);
	return copy_to_user(to, text, n) ? -EFAULT : (ssize_t)n;
}

/* What is missing before the record at the tail: one mark at a time, 0 when all is told. */
static ssize_t copy_missing(struct stapy_ring *r, int cpu, const struct stapy_record *before,
			    char __user *to, size_t bytes)
{
	u64 lost = r->passed + (before ? before->lost_bytes : 0);
	ssize_t n = 0;

	if (r->overwritten) {
		n = copy_mark(to, bytes, "overwrote", r->overwritten, cpu, 0);
		if (n > 0)
			r->overwritten = 0;
	} else if (!r->marked && lost) {
		n = copy_mark(to, bytes, "lost", lost, cpu,
			      r->passed_why | (before ? before->lost_why : 0));
		if (n > 0) {
			r->passed = 0;
			r->passed_why = 0;
			r->marked = true;
		}
	}
	return n;
}

/* Of most records nothing is missing: one test for all that could be. */
static __always_inline bool is_missing(const struct stapy_ring *r, const struct stapy_record *record)
{
	return unlikely(r->overwritten | r->passed | record->lost_bytes);
}

/* So much of the record at the tail was read; true when that was the rest of it. */
static bool pass(struct stapy_ring *r, const struct stapy_record *record, size_t n)
{
	r->done += n;
	if (r->done != record->length)
		return false;
	r->done = 0;
	r->marked = false;
	/* Pairs with the acquire in the writer: the bytes may be written again. */
	smp_store_release(&r->tail, r->tail + stapy_record_bytes(record));
	return true;
}

/* What is missing before the record at the tail is told now. */
static struct stapy_piece piece_of(struct stapy_ring *r, int cpu, u64 lost, u32 why, u64 stamp)
{
	struct stapy_piece piece = {
		.magic = STAPY_PIECE_MAGIC,
		.stamp = stamp,
		.lost = r->marked ? 0 : r->passed + lost,
		.overwritten = r->overwritten,
		.cpu = cpu,
		.why = r->marked ? 0 : r->passed_why | why,
	};

	return piece;
}

static void told(struct stapy_ring *r)
{
	r->overwritten = r->passed = 0;
	r->passed_why = 0;
	r->marked = true;
}

/* As copy_record(), for a reader that takes pieces. */
static ssize_t copy_print(struct stapy_ring *r, int cpu, size_t mask, char __user *to, size_t bytes,
			  bool alone, bool *whole)
{
	struct stapy_record *record = record_at_tail(r, mask);
	struct stapy_piece piece = piece_of(r, cpu, record->lost_bytes, record->lost_why,
					    record->stamp);
	size_t n = record->length - r->done;

	*whole = false;
	if (bytes < sizeof(piece) + n) {
		if (!alone)
			return 0;
		if (bytes <= sizeof(piece))
			return -EINVAL;
		n = bytes - sizeof(piece);
	}
	piece.length = n;
	piece.total = record->length;
	piece.done = r->done;
	if (copy_to_user(to, &piece, sizeof(piece)) ||
	    copy_to_user(to + sizeof(piece), (char *)(record + 1) + r->done, n))
		return -EFAULT;
	told(r);
	*whole = pass(r, record, n);
	return sizeof(piece) + n;
}

/* What is missing behind the last record, for a reader that takes pieces. */
static ssize_t copy_loss(struct stapy_ring *r, int cpu, char __user *to)
{
	struct stapy_piece piece = piece_of(r, cpu, 0, 0, stapy_stamp());

	if (copy_to_user(to, &piece, sizeof(piece)))
		return -EFAULT;
	told(r);
	return sizeof(piece);
}

/*
 * Copy the record at the tail, or what of it has room in a buffer where nothing else is; else 0.
 * Negative on a fault, *whole when it was read to its end.
 */
static ssize_t copy_record(struct stapy_ring *r, int cpu, size_t mask, char __user *to, size_t bytes,
			   bool alone, bool *whole)
{
	struct stapy_record *record = record_at_tail(r, mask);
	size_t n = record->length - r->done;
	ssize_t marked;

	*whole = false;
	if (is_missing(r, record)) {
		marked = copy_missing(r, cpu, record, to, bytes);
		if (marked)
			return marked;
	}
	if (n > bytes && !alone)
		return 0;
	n = min(n, bytes);
	if (stapy_copy_out(to, (char *)(record + 1) + r->done, n))
		return -EFAULT;
	*whole = pass(r, record, n);
	return n;
}

/* After the session: losses that no later record could report. */
static ssize_t copy_last_losses(char __user *to, size_t bytes)
{
	ssize_t copied = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct stapy_ring *r = ring_of(cpu);
		ssize_t n;

		while (r->tail == r->head && (!copied || bytes - copied >= MARK_BYTES) &&
		       (r->overwritten || r->passed || r->lost)) {
			if (bytes - copied < SHORT_MARK_BYTES)
				return -EINVAL;		/* what is missing would be told in part, or too far */
			r->passed += r->lost;
			r->passed_why |= r->lost_why;
			r->lost = 0;
			r->lost_why = 0;
			r->marked = false;
			n = stapy_session.records ? copy_loss(r, cpu, to + copied) :
						    copy_missing(r, cpu, NULL, to + copied, bytes - copied);
			if (n < 0)
				return copied ?: n;
			copied += n;
		}
		r->marked = false;
	}
	return copied;
}

/*
 * The rest of the record that was begun gave way to later ones: that is told at once, at the place
 * where it is missing, before another CPU's text would go on with the line.
 */
static ssize_t copy_torn(char __user *to, size_t bytes)
{
	struct stapy_ring *r;

	if (partial < 0 || stapy_session.records)
		return 0;
	r = ring_of(partial);
	return r->done || !r->overwritten ? 0 : copy_missing(r, partial, NULL, to, bytes);
}

/* The CPU whose record was begun, while there still is a rest of it. */
static int begun(void)
{
	if (partial >= 0 && !ring_of(partial)->done && !ring_of(partial)->marked)
		partial = -1;
	return partial;
}

static ssize_t merge(char __user *to, size_t bytes, bool *more)
{
	size_t mask = stapy_ring_bytes() - 1;
	u64 now = take_snapshot(), next;
	size_t copied;
	ssize_t n;
	bool whole;
	int cpu;

	n = copy_torn(to, bytes);
	if (n < 0)
		return n;
	copied = n;
	while (copied < bytes) {
		struct stapy_ring *r;

		cpu = begun();
		next = 0;
		if (cpu < 0)
			cpu = oldest(now, mask, &next);
		if (cpu < 0)
			return copied;
		r = ring_of(cpu);
		/* The rings are gone: what was left in them is nobody's. */
		if (!r->base)
			return copied;
		do {
			/* Room for the mark and something after it, or a fresh buffer. */
			if (copied && bytes - copied < MARK_BYTES) {
				*more = true;
				return copied;
			}
			if (unlikely(stapy_session.records))
				n = copy_print(r, cpu, mask, to + copied, bytes - copied, !copied, &whole);
			else
				n = copy_record(r, cpu, mask, to + copied, bytes - copied, !copied, &whole);
			if (n < 0)
				return copied ?: n;
			*more = !n;
			if (*more)
				return copied;
			copied += n;
			partial = whole ? -1 : cpu;
		} while (whole && copied < bytes && r->tail != r->limit &&
			 record_at_tail(r, mask)->stamp <= next);
	}
	*more = true;
	return copied;
}

ssize_t stapy_rings_read(char __user *to, size_t bytes, bool *more)
{
	ssize_t n;

	*more = false;
	claim_rings();
	n = merge(to, bytes, more);
	if (!n && stapy_state() == STAPY_STOPPED)
		n = copy_last_losses(to, bytes);
	release_rings();
	return n;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output: one ring of bytes per CPU. Its pages are mapped twice in a row, so a
 * record never wraps. The only writer is the holder of the CPU's context.
 */
#ifndef STAPY_RING_H
#define STAPY_RING_H

/* A record is committed at the next print when it has grown to this. */
#define STAPY_RECORD_PIECE 8192

/*
 * With stapy_session.records each print is a record, and its first byte tells what follows: text,
 * or the number of the print and of the probe (u32), its fields, and its text.
 */
enum stapy_print_kind { STAPY_PRINT_TEXT, STAPY_PRINT_TYPED };

/* Why output was lost; texts stand in losses.c and stapy/run/losses.py. */
enum stapy_loss {
	STAPY_LOSS_SLOW,		/* the reader was reading, and not fast enough */
	STAPY_LOSS_STOPPED,		/* it had not come for a second, and longer than that waits for it */
	STAPY_LOSS_LONG,		/* one print is longer than the buffer */
	STAPY_LOSS_NO_BUFFER,		/* the CPU has come and has none yet */
	STAPY_LOSS_HELD,		/* old output could not give way: it was being read */
	STAPY_LOSS_LIMIT,		/* one print is longer than any may be, however large the buffer */
	STAPY_LOSSES
};

struct stapy_record {
	u64 stamp;
	u32 length;			/* of the text; the next header is at the next multiple of 8 */
	u32 lost_bytes : 26;		/* that were lost before this record */
	u32 lost_why : 6;		/* bits of enum stapy_loss */
};

#define STAPY_RECORD_LOST ((1 << 26) - 1)	/* more is told by the next ones */

/* From one record to the next. */
static inline u64 stapy_record_bytes(const struct stapy_record *record)
{
	return ALIGN(sizeof(*record) + record->length, 8);
}

/* The writer is about to stamp the record that it opens. */
#define STAPY_RING_STAMPING 1

struct stapy_ring {
	/* the writer's */
	char *base;
	u64 head;
	u64 tail_seen;			/* an old value of tail, to stay off the reader's cache line */
	u64 lost;			/* bytes since the last record */
	u32 lost_why;			/* bits of enum stapy_loss */
	enum stapy_loss last_why;	/* of the print that was lost last, in the record of that stamp: */
	u64 last_lost;
	u64 failures;			/* prints that did not fit */
	u64 losses[STAPY_LOSSES];	/* bytes of all of them, by cause */
	u64 open;			/* stamp of the record being written, 0 when there is none */
	/* the reader's */
	u64 tail ____cacheline_aligned_in_smp;
	atomic_t claimed;		/* for moving the tail, and what stands below */
	u64 limit;			/* records up to here may be read now */
	u32 done;			/* bytes of the record at tail that were read */
	bool marked;			/* the record's loss was reported */
	u64 overwritten;		/* bytes that the writer gave up in front of the tail */
	u64 passed;			/* bytes lost before records that it gave up */
	u32 passed_why;			/* bits of enum stapy_loss */
	u64 visited;			/* when somebody read last */
	struct page **pages;
};

/* How large each of them will be; before the next. */
void stapy_rings_size(void);
int stapy_rings_alloc(void);
/* Rings for CPUs that have come; false when there is no memory for one. Process context. */
bool stapy_rings_complete(void);
void stapy_rings_free(void);
/* Nothing was read in part; with the rings freed. */
void stapy_rings_forget(void);
/*
 * Whether the newest output is kept, and the oldest gives way to it, or the other way round.
 * Writers that are under way may still obey the last word.
 */
void stapy_rings_overwrite(bool on);
/* Something to read, or the session is over. */
bool stapy_rings_readable(void);
/* One of the rings is a quarter full: the reader should not wait any longer. */
bool stapy_rings_filling(void);
/*
 * Bytes copied in the order of time, 0 when there is nothing, or -EFAULT. Records are whole,
 * unless one alone is too long; *more: another one was ready and had no room.
 */
ssize_t stapy_rings_read(char __user *to, size_t bytes, bool *more);
u64 stapy_rings_failures(void);
/* Bytes that were lost for this reason. */
u64 stapy_rings_lost(enum stapy_loss why);
/* What the user is told of a reason, and of several: their texts, with commas, for a mark. */
const char *stapy_loss_text(enum stapy_loss why);
size_t stapy_loss_texts(char *to, size_t bytes, u32 why);

/*
 * Bulk mode: each CPU has a file of its own, whose reader takes pieces of this form, with the text
 * behind the header and zeros or rests of older text up to the next multiple of 8. A record that
 * is too long for a read is several pieces of one stamp. stapy/run/merge.py has the same.
 */
#define STAPY_BULK_MAGIC 0x32425053	/* "SPB2" */

struct stapy_bulk {
	u32 magic;
	u32 length;			/* of the text */
	u64 stamp;
	u64 lost;			/* bytes that are missing before it: they found no room */
	u64 overwritten;		/* the same: they gave way to later ones */
	u32 why;			/* bits of enum stapy_loss */
	u32 unused;
};

/*
 * What a read of `output` gives with stapy_session.records: pieces, each a header with `length`
 * bytes behind it, whole ones. stapy/run/records.py has the same.
 */
#define STAPY_PIECE_MAGIC 0x31505053	/* "SPP1" */

struct stapy_piece {
	u32 magic;
	u32 length;
	u64 stamp;
	u64 lost;			/* bytes of prints that are missing before it: they found no room */
	u64 overwritten;		/* the same: they gave way to later ones */
	u32 cpu;
	u32 total;			/* bytes of the whole print, 0: there is none, only losses */
	u32 done;			/* of which so many came before */
	u32 why;			/* of the lost ones, bits of enum stapy_loss */
};

/* As stapy_rings_read(), of one CPU; -EINVAL when there is no room for the smallest piece. */
ssize_t stapy_ring_read_bulk(int cpu, char __user *to, size_t bytes, bool *more);
/* Something to read of this CPU, and the reader should not wait any longer. */
bool stapy_ring_readable(int cpu);
bool stapy_ring_filling(int cpu);

/* The reader's: from now on its writer gives nothing up; what is at the tail stays there. */
void stapy_ring_claim(struct stapy_ring *r);
void stapy_ring_release(struct stapy_ring *r);

size_t stapy_ring_bytes(void);
/* Whether half of this CPU's ring has room for what the reader has left and so many bytes. */
bool stapy_ring_is_roomy(struct stapy_context *c, size_t bytes);

/* Commit what this run printed. */
void stapy_ring_commit(struct stapy_context *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of one handler run. One context per CPU; see docs/runtime.md, "A hit". */
#ifndef STAPY_CONTEXT_H
#define STAPY_CONTEXT_H

#define STAPY_ERROR_BYTES 512
#define STAPY_TRAIL_BYTES 1024

/* A place to write text to: the ring of this CPU, or a string. */
struct stapy_out {
	char *at;
	char *end;			/* one past the last byte that may be written */
	u64 lost;			/* bytes that did not fit */
};

/* Why memory of a program that was not there was not waited for, for the message of the error. */
enum stapy_unwaited {
	STAPY_WAITED,
	STAPY_UNWAITED_CHANGED,		/* the handler had changed something */
	STAPY_UNWAITED_PRINTED,
	STAPY_UNWAITED_KIND,		/* no handler of this kind of probe can */
};

/*
 * What a hit sets is put back by whoever set it, so that the next one finds a context that is
 * ready: a family clears user_regs, is_return and repeatable, and what is rarer sets `eventful` to have
 * it done by stapy_settle(). Every hit has a site, regs and address of its own.
 */
struct stapy_context {
	/* All that a hit touches which does nothing rare is in the first cache line. */
	int busy;
	bool is_return;
	u8 repeatable;			/* how often it may be run, user/missing.h; 0: never more than once */
	bool changed;			/* something that another run would do again */
	bool at_entry;			/* with -t: this is the entry side of a return probe */
	u32 spent;			/* cycles in handlers, less the clock when this hit began */
	u32 level;			/* preempt_count() when it began */
	u64 deadline;			/* clock at the end of the overload interval */
	union {
		struct {
			bool interruptible;	/* begin, end, …: process context */
			bool aborted;	/* abort() was called: nothing catches or reports the error */
			bool eventful;	/* an error, output, statements charged … to clean up after */
			bool timed;	/* -t */
			bool missed;	/* to be run once more */
			bool masked;	/* -D INTERRUPTIBLE=0: irq_flags */
			bool printed;	/* to be committed, which alone is done fast */
			bool hasty;	/* locks are hardly waited for, and a failure is no skip */
		};
		u64 attention;		/* any of these: stapy_settle() */
	};
	const struct stapy_site *site;
	struct pt_regs *regs;		/* of the probed kernel context, or NULL */
	unsigned long address;		/* of the probed instruction, 0 if unknown */
	char *frame;			/* stack of frames: next free byte */
	const unsigned long *args;	/* arguments of a tracepoint */
	struct pt_regs *user_regs;	/* of the probed user context, or NULL */
	void *slots;			/* values saved at entry of a return probe */
	void *data;			/* the family's own; of netfilter the words of its variables */
	const char *error;		/* message, or NULL: error_text */
	const char *error_at;		/* its place, see stapy_error() */
	unsigned int trail;		/* bytes of error_trail */
	u8 unwaited;			/* memory was missing, enum stapy_unwaited; an event */
	union {
		struct {
			int actions;	/* statements left */
			int nesting;	/* script function calls left */
		};
		u64 budget;		/* both at once */
	};
	char *frame_start, *frame_end;	/* of the stack of frames */
	struct stapy_out out;		/* what this run printed so far */
	u64 began;			/* clock at the beginning of an interruptible hit */
	u64 number;			/* of the hits with something to settle; tells one from the others */
	void *regex;			/* captures of the last match, for matched() */
	unsigned long irq_flags;	/* with interrupts masked: what they were */
	unsigned long missing;		/* memory of the program, of the last hit that missed some */
	size_t missing_bytes;
	unsigned long stack_low;	/* the last stack of this CPU, not of a task, that was looked at: */
	unsigned long stack_bytes;	/* these stay where they are */
	char error_text[STAPY_ERROR_BYTES];
	char error_trail[STAPY_TRAIL_BYTES];	/* the calls that led to error_at */
};

/* Take this CPU's context, or NULL: not running, busy, or short of stack. Preemption is off until stapy_leave(). */
struct stapy_context *stapy_enter(const struct stapy_site *site);
/* Run the handler, report its error. */
void stapy_run(struct stapy_context *c);
void stapy_leave(struct stapy_context *c);

/*
 * Set the error of this run; the first one wins. Returns false. The place, such as
 * "operator '/' at x.stp:1:25", is told when the error is printed; it is not part of the
 * text that a catch gets. NULL: that of the embedded C around, else of the call.
 */
bool __printf(3, 4) stapy_error(struct stapy_context *c, const char *place, const char *fmt, ...);

/* For C functions that report a mistake of whoever calls them: the place is that call. */
extern const char stapy_at_call[];

/* An error leaves embedded C. */
void __cold stapy_error_at(struct stapy_context *c, const char *place);
/* An error leaves a function that was called at a place. */
void __cold stapy_called_from(struct stapy_context *c, const char *place);

/* MAXACTION and abort() end the handler, whatever it would catch. */
static inline bool stapy_is_fatal(const struct stapy_context *c)
{
	return c->aborted || c->actions < 0;
}

/* A try block has dealt with the error. */
static inline void stapy_caught(struct stapy_context *c)
{
	c->error = NULL;
	c->error_at = NULL;
	c->unwaited = STAPY_WAITED;
}

/* Leave this handler whatever it does: an error that no try block catches and nobody prints. */
static inline void stapy_abort(struct stapy_context *c)
{
	c->aborted = true;
	stapy_error(c, NULL, "aborted");
}

/* Memory for a frame; released by setting c->frame back. Never fails: sizes were added up at translation. */
static inline void *stapy_frame(struct stapy_context *c, size_t bytes)
{
	void *frame = c->frame;

	c->frame += ALIGN(bytes, 8);
	return frame;
}

/* Charge n statements; false (with the error set) when MAXACTION is used up. */
bool stapy_out_of_actions(struct stapy_context *c, const char *place);
static inline bool stapy_act(struct stapy_context *c, int n, const char *place)
{
	c->actions -= n;
	c->eventful = true;
	return likely(c->actions >= 0) || stapy_out_of_actions(c, place);
}

#endif

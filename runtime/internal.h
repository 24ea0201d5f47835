/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the runtime's own files share and scripts must not touch. */
#ifndef STAPY_INTERNAL_H
#define STAPY_INTERNAL_H

#include "stapy.h"
#include "transport/ring.h"

#define STAPY_MIX 0x9e3779b97f4a7c15ULL		/* multiplying by it mixes upwards */

/* Of what is written before it is looked at: kernels that clear all variables take longer for it than a hit. */
#if __has_attribute(uninitialized)
#define STAPY_UNSET __attribute__((uninitialized))
#else
#define STAPY_UNSET
#endif

/* Life of a session; handlers of ordinary probes run only while it is RUNNING. */
enum stapy_state {
	STAPY_LOADED,
	STAPY_STARTING,
	STAPY_RUNNING,
	STAPY_STOPPING,
	STAPY_STOPPED,
	STAPY_STATES = 7,		/* the bits for these */
	/* What a hit has to look at besides; for good, and in the same word so that one test does. */
	STAPY_MASKS = 8,		/* -D INTERRUPTIBLE=0 */
	STAPY_HIDES = 16		/* there is a process that no probe sees */
};

/* All that belongs to one CPU. */
struct stapy_cpu {
	struct stapy_context c;
	u64 budget;			/* that of c at the start of a hit */
	char *record;			/* text of the record being written starts here */
	char *mark;			/* the unfinished print starts here, NULL outside of one */
	u32 spent;			/* c.spent when the last hit left, with -t */
	u64 overload_start;
	u64 overload_cycles;		/* c.spent that was added up before it was set back */
	u64 intervals;			/* that are over; with --on-overload */
	const struct stapy_probe *heaviest;	/* took most since then, by so many cycles: */
	u64 heaviest_cycles;
	struct stapy_ring ring;
	unsigned long *stack;		/* stapy_stack_frames addresses, of the hit with the number below */
	u64 stack_of;			/* c.number, 0: of none */
	unsigned int stack_depth;	/* how many there are */
	unsigned int stack_wanted;	/* how many were asked for */
	struct stapy_step *steps;	/* STAPY_STEPS of them, of walks before */
	char scratch[KSYM_SYMBOL_LEN];	/* for the holder of the context */
};

extern struct stapy_cpu __percpu *stapy_cpus;
extern unsigned int stapy_stack_frames;		/* limits.maxbacktrace */
extern bool stapy_failed;			/* error probes run instead of end probes */
/* The member of stapusr, stapsys or stapdev whom the session is for; invalid: it is root's. */
kuid_t stapy_session_user(void);
/* May the caller do what a member may not: is it root, or is the session root's? */
bool stapy_session_trusts_caller(void);

int stapy_contexts_alloc(void);
void stapy_contexts_free(void);
/* What functions and handlers keep their strings in. */
int stapy_frames_alloc(void);
void stapy_frames_free(void);
/* Bytes left of the stack in use, by the holder of the context. */
unsigned long stapy_stack_left(struct stapy_context *c);
/* True, and counted as a skipped hit, when less than MINSTACKSPACE is left. */
bool stapy_stack_short(struct stapy_context *c, const struct stapy_probe *probe);
/* Before a helper that needs much of it: false with the error set when less is left. */
bool stapy_stack_suffices(struct stapy_context *c);
extern unsigned long stapy_stack_space;		/* MINSTACKSPACE, THREAD_SIZE at most */
extern unsigned long stapy_stack_rest;		/* of THREAD_SIZE */
/* Wait until no handler runs on any CPU. */
void stapy_contexts_wait(void);

/* stapy_enter() for handlers that belong to another state of the session. */
struct stapy_context *stapy_enter_in(const struct stapy_site *site, enum stapy_state state);
/* This hit takes its time in process context: the overload rule is not for it. */
void stapy_interruptible(struct stapy_context *c);
/* A hit of this probe (NULL: of one that is not told apart) is skipped. */
void stapy_skip(enum stapy_skip reason, const struct stapy_probe *probe);
/* End the session because of an error. */
void stapy_fail(void);
/* errors.c: tell of the error that a hit ends with, and count it. */
void stapy_report_error(struct stapy_context *c);
/* Errors of the handlers between these two are told, but count as one, and at the end of them. */
void stapy_hold_errors(void);
void stapy_judge_errors(void);

static inline enum stapy_state stapy_state(void)
{
	return atomic_read(&stapy_session.state) & STAPY_STATES;
}

/* Is a place of this probe (NULL: the runtime's own) to be armed at present? */
static inline bool stapy_wanted(const struct stapy_probe *probe)
{
	return !probe || !probe->condition || !READ_ONCE(probe->condition->idle);
}

/* True when a family that arms its rows should give up: with -EINTR, what it has armed undone. */
static inline bool stapy_interrupted(void)
{
	return stapy_state() != STAPY_STARTING || fatal_signal_pending(current);
}

/*
 * budget.c: memory for what a script may make as large as it likes. It is asked for in such a
 * way that the kernel refuses rather than ends other processes.
 */
#define STAPY_GFP (GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)
/* Zeros, or NULL; freed by kvfree(). */
void *stapy_alloc_node(size_t bytes, int node);
void *stapy_alloc(size_t count, size_t bytes);
u64 stapy_memory_free(void);
/* Can so many bytes be taken, and others are left some? */
bool stapy_memory_allows(u64 bytes);
/* All that the script needs against what is free; an error with its largest parts when it is too much. */
int stapy_budget_check(void);
/* All that the script needs, in bytes. */
u64 stapy_budget_total(void);
/* A message for each large part of it, and for the module. */
void stapy_budget_tell(void);
/* The same error when it could not be had after all. */
void stapy_budget_complain(void);

/* Memory of one global in all its copies; after stapy_maps_plan(). */
u64 stapy_storage_bytes(const struct stapy_storage *row);
/* How large the elements of each array are. */
int stapy_maps_plan(void);

/* The figures that are printed when a session ends. */
void stapy_report_skips(u64 missed);
void stapy_report_lost(void);
void stapy_report_probes(void);
int stapy_report_alloc(void);
void stapy_report_free(void);
/* What 2^20 cycles are in the units of the report. Figures that stand side by side share one rate: the
 * clocks are compared anew each time, and the smallest of one value would not be the greatest. */
#define STAPY_RATE_SHIFT 20
u64 stapy_report_rate(void);
static inline s64 stapy_report_units(s64 cycles, u64 rate)
{
	return mul_u64_u64_shr(cycles, rate, STAPY_RATE_SHIFT);
}
/* Nanoseconds since the module was loaded, where hits are counted. */
u64 stapy_report_age(void);
/* Hits that were skipped so far. */
u64 stapy_report_skipped(void);
int stapy_report_skipped_by(enum stapy_skip reason);

/* overload.c, with --on-overload: memory; a hit took so long; what was left out for it. */
int stapy_overload_alloc(void);
void stapy_overload_free(void);
void stapy_overload_count(struct stapy_context *c, u64 cycles);
void stapy_overload_report(void);
/* Disarm a probe for good, whatever its condition says; from any context. It is set by arming.c, which modules
 * without switched probes have not: they have no probe to be called with. */
extern void (*stapy_disarm)(struct stapy_condition *condition);

/* accounts.c: which probes did what, after a run that did not go well. */
void stapy_accounts_report(u64 missed);
/* The hits of a probe so far, in the units of -t; false when they are not counted. */
bool stapy_accounts_hits(const struct stapy_probe *probe, struct stapy_stat *sum);
void stapy_accounts_overload(bool is_end);

/* lock.c: which globals hits had to wait for in vain; the first of those for which most did, or "". */
void stapy_lock_report(void);
const char *stapy_lock_worst(void);

/* One statistic. */
size_t stapy_stat_bytes(const struct stapy_stat_shape *shape);
void stapy_stat_reset(struct stapy_stat *s, const struct stapy_stat_shape *shape);
void stapy_stat_record(struct stapy_stat *s, const struct stapy_stat_shape *shape, s64 value);
void stapy_stat_merge(struct stapy_stat *to, const struct stapy_stat *from,
		      const struct stapy_stat_shape *shape);
void stapy_stat_shape_buckets(struct stapy_stat_shape *shape);
struct stapy_statvar *stapy_statvar_alloc(struct stapy_stat_shape *shape);
void stapy_statvar_free(struct stapy_statvar *v);

#endif

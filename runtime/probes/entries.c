// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers at the entry of calls that are under way. Nobody tells when a call
 * is over, so the table forgets the entry that was made first among the few
 * places that a frame can have. A frame has one entry at most: the next call at
 * the same address of a stack writes over the one before, or makes it vanish.
 */
#include "../arch/machine.h"
#include "../internal.h"
#include "entries.h"

#define WAYS 8				/* places that a frame can have */
#define FRAMES 4096			/* without -D MAXENTRYFRAMES */

struct entry {
	unsigned long frame;		/* 0: free */
	unsigned int function;
	atomic_t version;		/* odd while it is being written */
	u64 age;			/* cycle count when it was made */
	unsigned long registers[STAPY_ARGUMENT_REGISTERS];
};

static struct entry *entries;
static unsigned int mask;		/* of groups of WAYS */

static __always_inline struct entry *places_of(unsigned long frame)
{
	return entries + WAYS * ((frame >> 3) * STAPY_MIX >> 32 & mask);
}

/* Nobody waits: who finds an entry being written takes another one. */
static __always_inline bool claim(struct entry *e, int *version)
{
	*version = atomic_read(&e->version);
	return !(*version & 1) && atomic_cmpxchg(&e->version, *version, *version + 1) == *version;
}

/*
 * Where a frame's entry goes: over the old one of the frame, so that a stale one
 * is never found. One that somebody else is writing over is about to be gone, too.
 */
static __always_inline struct entry *take(unsigned long frame, int *version)
{
	struct entry *group = places_of(frame), *oldest;
	unsigned int i, tries, taken = 0;

	for (i = 0; i < WAYS; i++)
		if (READ_ONCE(group[i].frame) == frame && claim(&group[i], version))
			return &group[i];
	for (tries = 0; tries < WAYS; tries++) {
		oldest = NULL;
		for (i = 0; i < WAYS; i++)
			if (!(taken & BIT(i)) && (!oldest || group[i].age < oldest->age))
				oldest = &group[i];
		if (claim(oldest, version))
			return oldest;
		taken |= BIT(oldest - group);
	}
	return NULL;
}

void notrace stapy_remember_entry(unsigned int function, struct pt_regs *regs)
{
	unsigned long frame = stapy_entry_frame(regs);
	struct entry *e;
	int version;

	preempt_disable_notrace();
	e = take(frame, &version);
	if (e) {
		e->frame = frame;
		e->function = function;
		e->age = get_cycles();
		stapy_arguments(regs, e->registers);
		atomic_set_release(&e->version, version + 2);
	}
	preempt_enable_notrace();
}

/*
 * Calls that are always under way when a session begins: the consumer's, which
 * starts it, and that of its command, which waits for that. They are not what the
 * script is about, and must not end it.
 */
static bool is_ours(void)
{
	if (current->tgid == stapy_session.consumer)
		return true;
	return current->tgid == stapy_session.target && current->flags & PF_FORKNOEXEC;
}

bool stapy_entry_register(struct stapy_context *c, s64 *to, unsigned int function,
			  unsigned int which, unsigned long frame, const char *name,
			  const char *place)
{
	struct entry *e = places_of(frame), *end = e + WAYS;

	for (; e < end; e++) {
		int version = atomic_read_acquire(&e->version);

		if (version & 1 || READ_ONCE(e->frame) != frame || e->function != function)
			continue;
		*to = READ_ONCE(e->registers[which]);
		smp_rmb();
		if (atomic_read(&e->version) == version)
			return true;
	}
	if (is_ours()) {
		stapy_abort(c);
		return false;
	}
	return stapy_error(c, place,
			   "the value that it had at the entry of '%s' is not known: the call began before the session, or more than MAXENTRYFRAMES came since",
			   name);
}

int stapy_entries_alloc(void)
{
	unsigned int wanted = max(stapy_session.limits.maxentryframes, 0) ?: FRAMES;
	unsigned int groups = roundup_pow_of_two(DIV_ROUND_UP(min_t(unsigned int, wanted, SZ_16M), WAYS));

	entries = stapy_alloc((size_t)groups * WAYS, sizeof(*entries));
	mask = groups - 1;
	return entries ? 0 : -ENOMEM;
}

void stapy_entries_free(void)
{
	kvfree(entries);
	entries = NULL;
}

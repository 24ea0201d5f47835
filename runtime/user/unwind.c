// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of the current process, by the tables of objects.c. Nothing sleeps and nothing waits:
 * the lock of the address space is tried, only where giving it back may wake a waiter; memory
 * that is not there ends the walk.
 */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "../internal.h"
#include "../transport/control.h"
#include "objects.h"
#include "unwind.h"

#define RANGES 8
#define LOCK_TRIES 8
#define POINTER_REACH (1UL << 20)	/* of a frame pointer above the stack's */
#define PENDING 64			/* return probes of one thread: the kernel's limit */

/* What a CPU keeps for the hit that it is in. */
struct kept {
	u64 hit;
	struct mm_struct *mm;
	unsigned int depth, wanted;
	bool walked;
	unsigned int nr_ranges, next_range;
	struct stapy_user_range ranges[RANGES];
	unsigned long stack[];
};

/* One walk, or one question. */
struct walk {
	struct kept *kept;
	bool may_lock, locked;
	const struct pt_regs *regs;	/* all registers, of the innermost frame only */
	unsigned long ip, sp, bp;
	unsigned long back;		/* 0: ip is where it is, not where it goes on behind a call */
};

static struct kept *__percpu *all;
static atomic_t cut_by_lock = ATOMIC_INIT(0), cut_by_object = ATOMIC_INIT(0);
static char cut_object[40];

/* --- address space --- */

/* Threads of the kernel, and those that work for a process in it, have no registers of their own. */
static bool has_user_part(void)
{
	return current->mm && !(current->flags & (PF_KTHREAD | PF_IO_WORKER));
}

/*
 * Giving the lock back may wake a waiter, which takes locks of the scheduler: this CPU holds none
 * of them where interrupts were on when the probe was hit.
 */
static bool lock_is_safe(struct stapy_context *c)
{
	if (!has_user_part())
		return false;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && (in_hardirq() || in_serving_softirq()))
		return false;
	if (c->user_regs)
		return true;
	if (c->regs)
		return !irqs_disabled_flags(c->regs->flags);
	if (c->masked)
		return !irqs_disabled_flags(c->irq_flags);
	return !in_nmi() && !irqs_disabled();
}

static struct kept *begin(struct stapy_context *c, struct walk *w)
{
	struct kept *kept;

	memset(w, 0, sizeof(*w));
	if (!all || (stapy_session.limits.unprivileged && !stapy_is_myproc()))
		return NULL;
	kept = *this_cpu_ptr(all);
	/* No two hits of one CPU begin at the same cycle. */
	if (kept->hit != c->entered || kept->mm != current->mm) {
		kept->hit = c->entered;
		kept->mm = current->mm;
		kept->walked = false;
		kept->depth = 0;
		kept->nr_ranges = 0;
	}
	w->kept = kept;
	w->may_lock = lock_is_safe(c);
	return kept;
}

static void end(struct walk *w)
{
	if (w->locked)
		mmap_read_unlock(current->mm);
}

static bool lock_maps(struct walk *w)
{
	unsigned int i;

	if (w->locked)
		return true;
	for (i = 0; w->may_lock && i < LOCK_TRIES; i++) {
		w->locked = mmap_read_trylock(current->mm);
		if (w->locked)
			return true;
		cpu_relax();
	}
	w->may_lock = false;
	atomic_inc(&cut_by_lock);
	return false;
}

static const struct stapy_user_range *range_of(struct walk *w, unsigned long address)
{
	struct kept *kept = w->kept;
	struct stapy_user_range *range;
	unsigned int i;

	for (i = 0; i < kept->nr_ranges; i++)
		if (address - kept->ranges[i].start < kept->ranges[i].end - kept->ranges[i].start)
			return &kept->ranges[i];
	if (!lock_maps(w))
		return NULL;
	if (kept->nr_ranges < RANGES)
		i = kept->nr_ranges;
	else
		i = kept->next_range++ % RANGES;
	range = &kept->ranges[i];
	if (!stapy_user_range_find(address, range)) {
		range->start = range->end = 0;
		return NULL;
	}
	if (i == kept->nr_ranges)
		kept->nr_ranges++;
	return range;
}

/* --- one frame --- */

struct pt_regs *stapy_user_registers(struct stapy_context *c)
{
	if (c->user_regs)
		return c->user_regs;
	if (c->regs && user_mode(c->regs))
		return c->regs;
	if (!has_user_part())
		return NULL;
	return task_pt_regs(current);
}

#ifdef CONFIG_X86_64
static bool is_64bit(const struct pt_regs *regs)
{
	return user_64bit_mode((struct pt_regs *)regs);
}

/* A register by its number in debug information. */
static bool register_value(const struct pt_regs *regs, unsigned int number, unsigned long *value)
{
	static const u8 at[] = {
		offsetof(struct pt_regs, ax), offsetof(struct pt_regs, dx),
		offsetof(struct pt_regs, cx), offsetof(struct pt_regs, bx),
		offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
		offsetof(struct pt_regs, bp), offsetof(struct pt_regs, sp),
		offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
		offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
		offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
		offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
	};

	if (!regs || number >= ARRAY_SIZE(at))
		return false;
	*value = *(const unsigned long *)((const char *)regs + at[number]);
	return true;
}
#else
static bool is_64bit(const struct pt_regs *regs)
{
	return false;
}

static bool register_value(const struct pt_regs *regs, unsigned int number, unsigned long *value)
{
	return false;
}
#endif

/* Of an offset that shares its word with 8 other bits. */
static long low_bits(u32 offset)
{
	return (s32)(offset << 8) >> 8;
}

static bool indirect(unsigned long at, u32 offset, unsigned long *cfa)
{
	if (!stapy_user_word(at + low_bits(offset), cfa))
		return false;
	*cfa += offset >> 24;
	return true;
}

/* Where this frame ends; false when it cannot be known. */
static __always_inline bool frame_end(const struct walk *w, const struct stapy_frame_rule *rule,
				      unsigned long *cfa)
{
	if (likely(rule->kind == STAPY_FRAME_RSP)) {
		*cfa = w->sp + (s32)rule->offset;
		return true;
	}
	switch (rule->kind) {
	case STAPY_FRAME_RBP:
		*cfa = w->bp + (s32)rule->offset;
		return true;
	case STAPY_FRAME_AT_RBP:
		return indirect(w->bp, rule->offset, cfa);
	case STAPY_FRAME_AT_RSP:
		return indirect(w->sp, rule->offset, cfa);
	case STAPY_FRAME_PLT:
		*cfa = w->sp + 8 + ((w->ip & 15) >= rule->offset ? 8 : 0);
		return true;
	case STAPY_FRAME_REGISTER:
		if (!register_value(w->regs, rule->offset >> 24, cfa))
			return false;
		*cfa += low_bits(rule->offset);
		return true;
	default:
		return false;
	}
}

static bool saved_pointer(struct walk *w, const struct stapy_frame_rule *rule, unsigned long cfa)
{
	switch (rule->saved) {
	case STAPY_SAVED_NOT:
		return true;
	case STAPY_SAVED_AT_CFA:
		return stapy_user_word(cfa + rule->by, &w->bp);
	case STAPY_SAVED_AT_RBP:
		return stapy_user_word(w->bp + rule->by, &w->bp);
	default:
		w->bp = 0;
		return true;
	}
}

/* What the kernel puts onto the stack to call a signal's handler: struct ucontext, its registers. */
#define SIGNAL_RBP 120
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168

static bool leave_signal(struct walk *w)
{
	unsigned long at = w->sp;

	w->back = 0;
	return stapy_user_word(at + SIGNAL_RIP, &w->ip) &&
	       stapy_user_word(at + SIGNAL_RBP, &w->bp) &&
	       stapy_user_word(at + SIGNAL_RSP, &w->sp);
}

/*
 * A return address that is hooked, be it by us or by others. We may have interrupted the
 * kernel while it changes the list, so it is read as if it could be anything.
 */
static void unhook(struct walk *w, unsigned long at)
{
#ifdef CONFIG_UPROBES
	struct uprobe_task *utask = current->utask;
	struct return_instance *next, hooked;
	unsigned int i;

	if (likely(!utask))
		return;
	next = READ_ONCE(utask->return_instances);
	for (i = 0; next && i < PENDING; i++, next = hooked.next) {
		if (copy_from_kernel_nofault(&hooked, next, sizeof(hooked)))
			return;
		if (hooked.stack == at) {
			w->ip = hooked.orig_ret_vaddr;
			return;
		}
	}
#endif
}

/* By the frame pointer, where nothing is described: code that was made at run time. */
static bool step_by_pointer(struct walk *w)
{
	unsigned long frame = w->bp;

	if (frame < w->sp || frame - w->sp > POINTER_REACH || frame % sizeof(long))
		return false;
	if (!stapy_user_word(frame, &w->bp) || !stapy_user_word(frame + 8, &w->ip))
		return false;
	w->sp = frame + 16;
	w->back = 1;
	unhook(w, frame + 8);
	return w->ip;
}

/* To the caller; false at the end of the stack, or where no more is known. */
static bool step(struct walk *w, const struct stapy_user_range *range)
{
	const struct stapy_frame_rule *rule = NULL;
	unsigned long cfa;

	if (likely(range->object))
		rule = stapy_object_rule(range->object, w->ip - w->back + range->shift);
	else if (range->is_file && !atomic_fetch_inc(&cut_by_object))
		strscpy(cut_object, range->name, sizeof(cut_object));
	if (!rule || rule->kind == STAPY_FRAME_UNKNOWN)
		return (!range->is_file || range->object) && step_by_pointer(w);
	if (rule->kind == STAPY_FRAME_SIGNAL)
		return leave_signal(w);
	if (!frame_end(w, rule, &cfa) || cfa <= w->sp)
		return false;
	if (!stapy_user_word(cfa - 8, &w->ip) || !saved_pointer(w, rule, cfa))
		return false;
	unhook(w, cfa - 8);
	w->sp = cfa;
	w->back = 1;
	return w->ip;
}

static unsigned int walk(struct walk *w, unsigned long *to, unsigned int max)
{
	const struct stapy_user_range *range;
	unsigned int n = 0;

	pagefault_disable();
	to[n++] = w->ip;
	while (n < max) {
		range = range_of(w, w->ip - w->back);
		if (!range || !range->is_code || !step(w, range))
			break;
		w->regs = NULL;
		range = range_of(w, w->ip - w->back);
		/* No place for code, so it was no return address. */
		if (!range || !range->is_code)
			break;
		to[n++] = w->ip;
	}
	pagefault_enable();
	return n;
}

unsigned int stapy_user_stack(struct stapy_context *c, const unsigned long **to, unsigned int max)
{
	struct pt_regs *regs = stapy_user_registers(c);
	struct kept *kept;
	struct walk w;

	kept = begin(c, &w);
	max = min(max, stapy_stack_frames);
	if (!kept || !regs || !max || !stapy_stack_suffices(c))
		return 0;
	*to = kept->stack;
	if (!kept->walked || (kept->wanted < max && kept->depth >= kept->wanted)) {
		w.regs = regs;
		w.ip = instruction_pointer(regs);
		w.sp = user_stack_pointer(regs);
		w.bp = frame_pointer(regs);
		kept->depth = walk(&w, kept->stack, is_64bit(regs) ? max : 1);
		kept->wanted = max;
		kept->walked = true;
		end(&w);
	}
	return min(max, kept->depth);
}

unsigned int stapy_user_stack_from(struct stapy_context *c, unsigned long pc, unsigned long sp,
				   unsigned long fp, const unsigned long **to)
{
	struct kept *kept;
	struct walk w;
	unsigned int n;

	kept = begin(c, &w);
	if (!kept || !has_user_part() || !stapy_stack_frames ||
	    !stapy_stack_suffices(c))
		return 0;
	kept->walked = false;
	*to = kept->stack;
	w.ip = pc;
	w.sp = sp;
	w.bp = fp;
	n = walk(&w, kept->stack, stapy_stack_frames);
	end(&w);
	return n;
}

/* --- names --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t file_text(char *to, size_t bytes, const struct stapy_user_range *range,
			unsigned int wanted)
{
	const char *name = range->object ? range->object->name : range->name;

	return scnprintf(to, bytes, " [%s", wanted & STAPY_SYMBOL_BASENAME ? base_name(name) : name);
}

bool stapy_user_symbol(struct stapy_context *c, char *to, size_t bytes, unsigned long address,
		       unsigned int wanted, bool is_return)
{
	const unsigned int file = STAPY_SYMBOL_FILE | STAPY_SYMBOL_BASENAME;
	const struct stapy_object_name *name = NULL;
	const struct stapy_user_range *range = NULL;
	const struct stapy_object *object;
	struct walk w;
	size_t used;
	u64 offset;

	if (begin(c, &w) && w.may_lock)
		range = range_of(&w, address - is_return);
	end(&w);
	if (range && !range->is_file && !range->object)
		range = NULL;
	object = range ? range->object : NULL;
	offset = range ? address + range->shift : 0;
	if (object)
		name = stapy_object_name(object, offset - is_return);
	if (name) {
		used = scnprintf(to, bytes, "%s", object->texts + name->at);
		if (wanted & STAPY_SYMBOL_OFFSET)
			used += scnprintf(to + used, bytes - used, "+%#llx",
					  offset - object->base - name->start);
		if (wanted & STAPY_SYMBOL_SIZE)
			used += scnprintf(to + used, bytes - used, "/%#x", name->size);
	} else {
		used = scnprintf(to, bytes, "%#lx", address);
	}
	if (!range || !(wanted & file))
		return name;
	used += file_text(to + used, bytes - used, range, wanted);
	if (!name) {
		used += scnprintf(to + used, bytes - used, "+%#llx",
				  offset + (object ? object->delta : 0));
		if (object && object->span && wanted & STAPY_SYMBOL_SIZE)
			used += scnprintf(to + used, bytes - used, "/%#llx", object->span);
	}
	scnprintf(to + used, bytes - used, "]");
	return name;
}

static const struct stapy_user_range *file_of(struct stapy_context *c, unsigned long address)
{
	const struct stapy_user_range *range = NULL;
	struct walk w;

	if (begin(c, &w) && w.may_lock)
		range = range_of(&w, address);
	end(&w);
	return range && (range->is_file || range->object) ? range : NULL;
}

bool stapy_user_file_name(struct stapy_context *c, char *to, size_t bytes, unsigned long address)
{
	const struct stapy_user_range *range = file_of(c, address);

	if (range)
		stapy_copy(to, range->object ? range->object->name : range->name, bytes);
	return range;
}

bool stapy_user_linked(struct stapy_context *c, unsigned long address, unsigned long *linked)
{
	const struct stapy_user_range *range = file_of(c, address);

	if (range)
		*linked = address + range->shift + (range->object ? range->object->delta : 0);
	return range;
}

/* --- text --- */

#define HEX_BYTES 19			/* 0x, sixteen digits and a blank */

static char *hex(char *to, unsigned long address)
{
	int shift = address ? __fls(address) & ~3 : 0;

	*to++ = '0';
	*to++ = 'x';
	for (; shift >= 0; shift -= 4)
		*to++ = hex_asc_lo(address >> shift);
	*to++ = ' ';
	return to;
}

bool stapy_user_stack_text(char *to, size_t bytes, const unsigned long *stack, unsigned int n,
			   bool blank_behind)
{
	char *start = to, *last = to + bytes - 1, text[HEX_BYTES];
	size_t length;

	for (; n; n--, to += length) {
		length = hex(text, *stack++) - text;
		if (length > last - to)
			break;
		memcpy(to, text, length);
	}
	if (to > start && !blank_behind)
		to--;
	*to = '\0';
	return !n;
}

#define FULL (STAPY_SYMBOL_OFFSET | STAPY_SYMBOL_SIZE | STAPY_SYMBOL_FILE)

/* Text of an address where the kernel's stack has no room for it; true when its name is known. */
static bool in_scratch(struct stapy_context *c, char **text, unsigned long address,
		       unsigned int wanted, bool is_return)
{
	struct stapy_cpu *cpu = this_cpu_ptr(stapy_cpus);

	*text = cpu->scratch;
	return stapy_user_symbol(c, *text, sizeof(cpu->scratch), address, wanted, is_return);
}

static void print_address(struct stapy_context *c, unsigned long address, bool is_return)
{
	char *text;

	if (in_scratch(c, &text, address, FULL, is_return))
		stapy_printf(c, " 0x%lx : %s\n", address, text);
	else
		stapy_printf(c, " %s\n", text);
}

void stapy_user_stack_print(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return)
{
	unsigned int i;

	if (!n) {
		stapy_printf(c, "<no user backtrace at %s>\n", c->site->point);
		return;
	}
	if (is_return) {
		stapy_printf(c, "Returning from: ");
		print_address(c, c->address, false);
		stapy_printf(c, "Returning to  : ");
	}
	for (i = 0; i < n; i++)
		print_address(c, stack[i], i || is_return);
}

void stapy_user_stack_brief(struct stapy_context *c, const unsigned long *stack, unsigned int n,
			    bool is_return)
{
	unsigned int i;
	char *text;

	if (!n)
		stapy_printf(c, "<no user backtrace at %s>\n", c->site->point);
	for (i = 0; i < n; i++) {
		in_scratch(c, &text, stack[i], STAPY_SYMBOL_OFFSET, i || is_return);
		stapy_printf(c, "%s\n", text);
	}
}

void stapy_user_stack_symbols(struct stapy_context *c, char *to, size_t bytes,
			      const unsigned long *stack, unsigned int n, bool is_return)
{
	const unsigned int wanted = STAPY_SYMBOL_OFFSET | STAPY_SYMBOL_BASENAME;
	size_t used = 0;
	unsigned int i;
	char *text;

	for (i = 0; i < n; i++) {
		in_scratch(c, &text, stack[i], wanted, i || is_return);
		used += scnprintf(to + used, bytes - used, "%s\n", text);
	}
	to[used] = '\0';
}

/* The next address of a list; false at the end. */
static bool next_address(const char **at, unsigned long *address)
{
	const char *s = *at;
	bool any = false;

	*address = 0;
	while (*s == ' ' || *s == '\n' || *s == '\t')
		s++;
	if (s[0] == '0' && (s[1] | 32) == 'x')
		s += 2;
	for (; hex_to_bin(*s) >= 0; s++) {
		*address = *address << 4 | hex_to_bin(*s);
		any = true;
	}
	*at = s;
	return any;
}

void stapy_user_symbols_print(struct stapy_context *c, const char *list)
{
	unsigned long address;
	bool behind = false;
	char *text;

	for (; next_address(&list, &address); behind = true) {
		in_scratch(c, &text, address, FULL, behind);
		stapy_printf(c, " 0x%lx : %s\n", address, text);
	}
}

void stapy_user_symbols_text(struct stapy_context *c, char *to, size_t bytes, const char *list)
{
	unsigned long address;
	bool behind = false;
	size_t used = 0;
	char *text;

	for (; next_address(&list, &address); behind = true) {
		in_scratch(c, &text, address, FULL, behind);
		used += scnprintf(to + used, bytes - used, " 0x%lx : %s\n", address, text);
	}
	to[used] = '\0';
}

/* --- the family --- */

static void free_all(void)
{
	int cpu;

	if (!all)
		return;
	for_each_possible_cpu(cpu)
		kvfree(*per_cpu_ptr(all, cpu));
	free_percpu(all);
	all = NULL;
}

/* Memory of each CPU itself ends at 32 KiB, of which the kernel warns. */
static int start(void *rows, unsigned int count)
{
	size_t bytes = sizeof(struct kept) + ((size_t)stapy_stack_frames + 1) * sizeof(long);
	int cpu;

	if (all)
		return 0;
	all = alloc_percpu(struct kept *);
	if (!all)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct kept *kept = stapy_alloc(1, bytes);

		if (!kept) {
			free_all();
			return -ENOMEM;
		}
		*per_cpu_ptr(all, cpu) = kept;
	}
	return 0;
}

static void stop(void *rows, unsigned int count)
{
}

static int take(void *rows, unsigned int count, const char __user *from, size_t bytes)
{
	return stapy_object_take(from, bytes);
}

/* Why stacks are shorter than they are, in the report. */
static u64 tell(void *rows, unsigned int count)
{
	int locked = atomic_xchg(&cut_by_lock, 0), unknown = atomic_xchg(&cut_by_object, 0);

	if (unknown)
		stapy_warn("%d user stacks end early, in files whose tables were not there yet "
			   "(%s); -d FILE --ldd brings them along",
			   unknown, cut_object);
	if (locked)
		stapy_warn("%d user stacks end early: the process was changing its mappings, or "
			   "the probe was hit with interrupts off", locked);
	return 0;
}

static void release(void *rows, unsigned int count)
{
	stapy_objects_free();
	free_all();
}

const struct stapy_family stapy_user_stacks = {
	.name = "user_stacks",
	.phases = true,
	.start = start,
	.stop = stop,
	.missed = tell,
	.object = take,
	.fetch = stapy_object_fetch,
	.left = stapy_objects_forget,
	.release = release,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel as the runtime's data structures know it, in a process: included before everything
 * else, in place of stapy.h. A CPU is a thread; per-CPU memory is an array.
 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef int8_t s8;
typedef uint8_t u8;
typedef int16_t s16;
typedef uint16_t u16;
typedef int32_t s32;
typedef uint32_t u32;
/* As the kernel has them: long long. */
typedef long long s64;
typedef unsigned long long u64;

#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define BIT(n) (1UL << (n))
#define NSEC_PER_SEC 1000000000L

#define __percpu
#define __user
#define __cold
#define __printf(text, first) __attribute__((__format__(__printf__, text, first)))
#define noinline __attribute__((noinline))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __maybe_unused __attribute__((__unused__))
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" ::: "memory")
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define ALIGN(x, to) (((x) + (typeof(x))(to) - 1) & ~((typeof(x))(to) - 1))
#define max(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) max((type)(a), (type)(b))
#define S64_MAX INT64_MAX
#define min_t(type, a, b) min((type)(a), (type)(b))
#define clamp(x, low, high) min(max(x, low), high)

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

#define __fls(x) (fls64(x) - 1)
#define rol64(x, by) ((u64)(x) << (by) | (u64)(x) >> (64 - (by)))
#define cpu_to_be64 __builtin_bswap64

static inline int order_base_2(u64 n)
{
	return n > 1 ? fls64(n - 1) : 0;
}

static inline u64 roundup_pow_of_two(u64 n)
{
	return 1ULL << order_base_2(n);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (unsigned __int128)a * b >> shift;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline s64 div64_s64(s64 a, s64 b)
{
	return a / b;
}

#define hex_asc_hi(byte) "0123456789abcdef"[(byte) >> 4]
#define hex_asc_lo(byte) "0123456789abcdef"[(byte) & 15]
int scnprintf(char *to, size_t bytes, const char *format, ...) __printf(3, 4);

/* --- lists ---------------------------------------------------------- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void __list_del(struct list_head *before, struct list_head *behind)
{
	behind->prev = before;
	before->next = behind;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->next = list;
	entry->prev = list->prev;
	list->prev->next = entry;
	list->prev = entry;
}

/* All of a list to the front of another one. */
static inline void list_splice_init(struct list_head *list, struct list_head *to)
{
	if (list_empty(list))
		return;
	list->prev->next = to->next;
	to->next->prev = list->prev;
	list->next->prev = to;
	to->next = list->next;
	INIT_LIST_HEAD(list);
}

#define list_entry(at, type, member) container_of(at, type, member)
#define list_first_entry(list, type, member) list_entry((list)->next, type, member)
#define list_for_each_entry(entry, list, member)                                                  \
	for (entry = list_first_entry(list, typeof(*entry), member); &entry->member != (list);     \
	     entry = list_first_entry(&entry->member, typeof(*entry), member))
#define list_for_each_entry_safe(entry, after, list, member)                                      \
	for (entry = list_first_entry(list, typeof(*entry), member),                               \
	     after = list_first_entry(&entry->member, typeof(*entry), member);                     \
	     &entry->member != (list);                                                             \
	     entry = after, after = list_first_entry(&entry->member, typeof(*entry), member))

/* --- memory order --------------------------------------------------- */

typedef struct {
	int counter;
} atomic_t;

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define smp_store_release(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
/* A fence is nothing to ThreadSanitizer; an exchange, which orders all, is. */
extern int shim_fence;
#define smp_mb() ((void)__atomic_fetch_add(&shim_fence, 1, __ATOMIC_SEQ_CST))
#define cpu_relax() sched_yield()
#define udelay(n) sched_yield()
#define usleep_range(least, most) usleep(least)

#define atomic_read(a) READ_ONCE((a)->counter)
#define atomic_set_release(a, value) smp_store_release(&(a)->counter, value)
#define atomic_inc(a) ((void)__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec_return_release(a) __atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_RELEASE)

static inline int atomic_cmpxchg_acquire(atomic_t *a, int old, int new)
{
	__atomic_compare_exchange_n(&a->counter, &old, new, false, __ATOMIC_ACQUIRE,
				    __ATOMIC_RELAXED);
	return old;
}

#define cmpxchg(at, old, new)                                                                      \
	({                                                                                         \
		typeof(*(at)) expected_ = (old);                                                   \
		__atomic_compare_exchange_n(at, &expected_, new, false, __ATOMIC_SEQ_CST,          \
					    __ATOMIC_SEQ_CST);                                     \
		expected_;                                                                         \
	})

#define DEFINE_MUTEX(name) pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER
#define mutex_lock pthread_mutex_lock
#define mutex_unlock pthread_mutex_unlock

/* --- CPUs ----------------------------------------------------------- */

#define CPUS 3
extern __thread int shim_cpu;			/* of this thread */

typedef unsigned long cpumask_t;
#define nr_cpu_ids CPUS
#define cpu_possible_mask NULL
#define cpumask_first(mask) 0
#define cpumask_next(cpu, mask) ((cpu) + 1)
#define for_each_possible_cpu(cpu) for (cpu = 0; cpu < CPUS; cpu++)
#define for_each_present_cpu for_each_possible_cpu
#define for_each_online_cpu for_each_possible_cpu
#define num_possible_cpus() CPUS
#define num_present_cpus() CPUS
#define num_online_cpus() CPUS
#define cpu_online(cpu) true
#define cpu_to_node(cpu) 0

static inline bool cpumask_test_and_set_cpu(int cpu, cpumask_t *mask)
{
	bool was = *mask >> cpu & 1;

	*mask |= 1UL << cpu;
	return was;
}

#define alloc_percpu(type) ((type *)calloc(CPUS, sizeof(type)))
#define free_percpu free
#define per_cpu_ptr(pointer, cpu) ((pointer) + (cpu))
#define this_cpu_ptr(pointer) per_cpu_ptr(pointer, shim_cpu)
#define raw_cpu_ptr(pointer) this_cpu_ptr(pointer)
#define this_cpu_read(variable) (*(&(variable) + shim_cpu))

/* --- memory --------------------------------------------------------- */

#define GFP_KERNEL 0
#define __GFP_NORETRY 0
#define __GFP_NOWARN 0
#define __GFP_ZERO 0
#define NUMA_NO_NODE (-1)
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_ALIGN(bytes) ALIGN(bytes, PAGE_SIZE)
#define VM_MAP 0
#define PAGE_KERNEL 0
#define kzalloc(bytes, flags) calloc(1, bytes)
#define kfree free
#define kvfree(memory) free((void *)(memory))

struct page;
struct page *alloc_pages_node(int node, int flags, unsigned int order);
void __free_page(struct page *page);
void *vmap(struct page **pages, unsigned int count, int flags, int protection);
void vunmap(void *address);

static inline unsigned long copy_to_user(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

#define stapy_copy_out copy_to_user

/* --- what else headers of the runtime name --------------------------- */

#define KSYM_SYMBOL_LEN 512
#define THREAD_SIZE 16384UL
#define TASK_COMM_LEN 16

typedef struct {
	unsigned int val;
} kuid_t;

struct task_struct {
	char comm[TASK_COMM_LEN];
};

struct pt_regs;
struct kernel_param;
#define current ((struct task_struct *)NULL)
#define current_stack_pointer THREAD_SIZE
#define task_stack_page(task) NULL
#define fatal_signal_pending(task) false
#define module_param(name, type, mode) _Static_assert(sizeof(name) == sizeof(type), #name)
#define uint unsigned int

extern u64 shim_ahead_ns;		/* the clock goes so much before the machine's */

static inline u64 ktime_get_mono_fast_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec + shim_ahead_ns;
}

#define ktime_get_real_fast_ns ktime_get_mono_fast_ns
#define get_cycles ktime_get_mono_fast_ns

/* --- the runtime's own, in place of stapy.h -------------------------- */

#define STAPY_H
#include "session.h"
#include "context.h"
#include "arith.h"
#include "text.h"
#include "print.h"
#include "lock.h"
#include "map.h"
#include "stat.h"
#include "clock.h"
#include "regex.h"

bool stapy_read_kernel(struct stapy_context *c, void *to, unsigned long address, size_t size,
		       const char *place);
bool stapy_read_user(struct stapy_context *c, void *to, unsigned long address, size_t size,
		     const char *place);

#endif

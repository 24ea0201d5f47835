/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every kernel header that the runtime, generated C and tapset C use, and the
 * wrappers of what changed between kernels: one wrapper per kernel header, the
 * only places with version or fact tests.
 */
#ifndef STAPY_COMPAT_KERNEL_H
#define STAPY_COMPAT_KERNEL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/clocksource.h>
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/types.h>
#include <linux/umh.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <asm/irq_regs.h>
#include <asm/ptrace.h>
#include <asm/timex.h>

/* Facts about this kernel, one STAPY_HAVE_… each, written when the build kit is made. */
#if __has_include("kernel_facts.h")
#include "kernel_facts.h"
#endif

/* Up to 6.3 a part of <linux/kernel.h>, which from 7.2 on does not bring it. */
#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif

/* Came with 5.14. */
#ifndef __no_stack_protector
#define __no_stack_protector
#endif

#include "linux/coredump.h"
#include "linux/fdtable.h"
#include "linux/ftrace.h"
#include "linux/hrtimer.h"
#include "linux/irq_work.h"
#include "linux/preempt.h"
#include "linux/proc_fs.h"
#include "linux/stacktrace.h"
#include "linux/string.h"
#include "linux/timer.h"
#include "linux/uaccess.h"

#endif

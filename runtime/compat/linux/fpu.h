/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a task's vector registers are while another one has the processor's. */
#ifndef STAPY_COMPAT_FPU_H
#define STAPY_COMPAT_FPU_H

#include <linux/sched.h>
#include <linux/version.h>
#include <asm/fpu/api.h>
#if __has_include(<asm/fpu/sched.h>)
#include <asm/fpu/sched.h>
#endif
#include <asm/fpu/types.h>

/* NULL for a task that never runs a program. */
static __always_inline const union fpregs_state *stapy_saved_vectors(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	/*
	 * What x86_task_fpu() says, which with CONFIG_X86_DEBUG_FPU is a function that modules cannot
	 * call: right behind the task. Behind a task of the kernel there is nothing.
	 */
	const struct fpu *fpu = (const void *)(current + 1);

	return current->flags & (PF_KTHREAD | PF_USER_WORKER) ? NULL : &fpu->fpstate->regs;
#elif STAPY_HAVE_FPU_FPSTATE
	return &current->thread.fpu.fpstate->regs;
#else
	return &current->thread.fpu.state;
#endif
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a task's vector registers are while another one has the processor's. */
#ifndef STAPY_COMPAT_FPU_H
#define STAPY_COMPAT_FPU_H

#include <linux/version.h>
#include <asm/fpu/api.h>
#include <asm/fpu/sched.h>
#include <asm/fpu/types.h>

static __always_inline const union fpregs_state *stapy_saved_vectors(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return &x86_task_fpu(current)->fpstate->regs;
#else
	return &current->thread.fpu.fpstate->regs;
#endif
}

#endif

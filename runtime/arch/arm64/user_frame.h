/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAPY_ARCH_ARM64_USER_FRAME_H
#define STAPY_ARCH_ARM64_USER_FRAME_H

#include <linux/compat.h>
#include <linux/signal_types.h>

#include <asm/memory.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>

#define STAPY_USER_LINK true	/* the return address is in a register until it is stored */

/* What the kernel puts onto the stack to call a signal's handler: siginfo, then the registers. */
#define STAPY_SIGNAL_AT (sizeof(struct siginfo) + offsetof(struct ucontext, uc_mcontext))
#define STAPY_SIGNAL_FP (STAPY_SIGNAL_AT + offsetof(struct sigcontext, regs[29]))
#define STAPY_SIGNAL_SP (STAPY_SIGNAL_AT + offsetof(struct sigcontext, sp))
#define STAPY_SIGNAL_IP (STAPY_SIGNAL_AT + offsetof(struct sigcontext, pc))
#define STAPY_SIGNAL_LINK (STAPY_SIGNAL_AT + offsetof(struct sigcontext, regs[30]))

static inline bool stapy_user_is_64bit(const struct pt_regs *regs)
{
	return !compat_user_mode(regs);
}

static inline unsigned long stapy_user_link(const struct pt_regs *regs)
{
	return regs->regs[30];
}

/* A return address without what it is signed with, which is in the bits that addresses do not use. */
static __always_inline unsigned long stapy_user_unsigned(unsigned long address)
{
	return address & GENMASK_ULL(vabits_actual - 1, 0);
}

/* A register by its number in debug information. */
static inline bool stapy_user_numbered_register(const struct pt_regs *regs, unsigned int number,
				       unsigned long *value)
{
	if (!regs || number >= ARRAY_SIZE(regs->regs))
		return false;
	*value = regs->regs[number];
	return true;
}

#endif

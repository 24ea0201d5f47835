/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAPY_ARCH_X86_64_USER_FRAME_H
#define STAPY_ARCH_X86_64_USER_FRAME_H

#define STAPY_USER_LINK false	/* calls push the return address */

/* What the kernel puts onto the stack to call a signal's handler: struct ucontext, its registers. */
#define STAPY_SIGNAL_FP 120
#define STAPY_SIGNAL_SP 160
#define STAPY_SIGNAL_IP 168
#define STAPY_SIGNAL_LINK 0	/* there is none */

static inline bool stapy_user_is_64bit(const struct pt_regs *regs)
{
	return user_64bit_mode((struct pt_regs *)regs);
}

static inline unsigned long stapy_user_link(const struct pt_regs *regs)
{
	return 0;
}

/* A return address without what it is signed with. */
static __always_inline unsigned long stapy_user_unsigned(unsigned long address)
{
	return address;
}

/* A register by its number in debug information. */
static inline bool stapy_user_numbered_register(const struct pt_regs *regs, unsigned int number,
				       unsigned long *value)
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

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Vector registers of the program that runs now. The kernel does not use them itself without
 * saying so: they are in the processor as the program left them, until they are needed for something else
 * (another task, or cryptography in an interrupt), and then in the task's memory.
 */
#include "../internal.h"

/* Probes of programs, which alone ask, are refused elsewhere. */
#ifdef CONFIG_X86_64

#include "../compat/linux/fpu.h"

#define VECTOR(number)							\
	case number:							\
		asm volatile("movq %%xmm" #number ", %0" : "=r"(value));	\
		break

static u64 live(unsigned int number)
{
	u64 value = 0;

	switch (number) {
	VECTOR(0);
	VECTOR(1);
	VECTOR(2);
	VECTOR(3);
	VECTOR(4);
	VECTOR(5);
	VECTOR(6);
	VECTOR(7);
	VECTOR(8);
	VECTOR(9);
	VECTOR(10);
	VECTOR(11);
	VECTOR(12);
	VECTOR(13);
	VECTOR(14);
	VECTOR(15);
	}
	return value;
}

s64 stapy_user_vector(unsigned int number)
{
	unsigned long flags;
	u64 value = 0;

	/* An interrupt might take the registers between the question and the answer. */
	local_irq_save(flags);
	if (!test_thread_flag(TIF_NEED_FPU_LOAD)) {
		value = live(number);
	} else {
		const union fpregs_state *saved = stapy_saved_vectors();

		/* What has its first value, 0, is not written when the others are saved. */
		if (saved && (!boot_cpu_has(X86_FEATURE_XSAVE) ||
			      saved->xsave.header.xfeatures & XFEATURE_MASK_SSE))
			memcpy(&value, &saved->fxsave.xmm_space[4 * (number & 15)], sizeof(value));
	}
	local_irq_restore(flags);
	return value;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What C must know of the machine, one folder for each: where calls have their arguments, what
 * registers tell of interrupts. Which ones there are, stapy/arch says.
 */
#ifndef STAPY_ARCH_MACHINE_H
#define STAPY_ARCH_MACHINE_H

#include <linux/ptrace.h>

#if defined(CONFIG_X86_64)
#include "x86_64/machine.h"
#elif defined(CONFIG_ARM64)
#include "arm64/machine.h"
#else
#error "modules of stapy are for x86_64 and arm64"
#endif

#endif

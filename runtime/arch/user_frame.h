/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What walks of a program's stack must know of the machine: registers, signals, return addresses. */
#ifndef STAPY_ARCH_USER_FRAME_H
#define STAPY_ARCH_USER_FRAME_H

#include <linux/ptrace.h>

#if defined(CONFIG_X86_64)
#include "x86_64/user_frame.h"
#elif defined(CONFIG_ARM64)
#include "arm64/user_frame.h"
#endif

#endif

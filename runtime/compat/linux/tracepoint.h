/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callbacks of tracepoints are called through pointers. Ours take all arguments as longs,
 * whatever the event's own types are, and a kernel that compares the types of such calls
 * (kCFI; the option was renamed in 6.18) would treat the first hit as an attack.
 */
#ifndef STAPY_COMPAT_TRACEPOINT_H
#define STAPY_COMPAT_TRACEPOINT_H

#define STAPY_TRACEPOINTS (!IS_ENABLED(CONFIG_CFI_CLANG) && !IS_ENABLED(CONFIG_CFI))

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf's events for the families that need them; not in compat/kernel.h, since
 * few scripts do and the header is large.
 */
#ifndef STAPY_COMPAT_PERF_EVENT_H
#define STAPY_COMPAT_PERF_EVENT_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* The family of tracepoints as it is built for a kernel that checks the types of calls. */
#include "script.h"
#include "compat/linux/tracepoint.h"

#undef STAPY_TRACEPOINTS
#define STAPY_TRACEPOINTS 0
#define stapy_tracepoint typed_tracepoint
#include "probes/tracepoint.c"

static void h_event(struct stapy_context *c)
{
	say(c, "hit\n");
}

static struct stapy_probe probes[] = { PROBE(h_event, "kernel.trace(\"sys_enter\")") };

static struct stapy_tracepoint_row tracepoint_rows[] = {
	{ .site = { &probes[0], "kernel.trace(\"raw_syscalls:sys_enter\")" }, .name = "sys_enter",
	  .nargs = 2 },
};

static const struct stapy_family_rows families[] = { ROWS(typed_tracepoint, tracepoint_rows) };

struct stapy_session stapy_session = { .limits = { DEFAULT_LIMITS }, TABLES };

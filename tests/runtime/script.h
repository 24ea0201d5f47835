/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What hand-written test scripts share: SystemTap's limits, and the marks of a stapy module. */
#ifndef STAPY_TEST_SCRIPT_H
#define STAPY_TEST_SCRIPT_H

#include "stapy.h"

#define DEFAULT_LIMITS								\
	.maxaction = 1000, .maxaction_interruptible = 10000,			\
	.maxtrylock = 100, .trylockdelay = 10, .minstackspace = 1024,		\
	.maxstringlen = 512, .maxnesting = 10, .maxmapentries = 2048,		\
	.overload_threshold = 500000000, .overload_interval = 1000000000,	\
	.buffer_bytes = 2 << 20

#define PROBE(function, name) { .handler = function, .written = name, .alias = name, .place = "t.stp:1:1" }
#define ROWS(family, rows) { &family, rows, ARRAY_SIZE(rows) }
#define TABLES									\
	.name = KBUILD_MODNAME, .script = "t.stp",				\
	.probes = probes, .nr_probes = ARRAY_SIZE(probes),			\
	.families = families, .nr_families = ARRAY_SIZE(families)

/* printf for test scripts */
#define say(c, ...) stapy_printf(c, __VA_ARGS__)

/* protocol.h is made by tests/runtime/conftest.py, of what the consumer knows */
#include "protocol.h"
static const char manifest[] __used __section(".stapy.manifest") =
	"{\"protocol\":" PROTOCOL ",\"script\":{\"name\":\"t.stp\"}}";

#endif

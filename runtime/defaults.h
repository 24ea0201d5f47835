/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SystemTap's limits, for generated C: it defines anew what -D has changed, before STAPY_LIMITS is
 * used. No part of stapy.h, since the runtime must not take them for what they are in a script.
 */
#ifndef STAPY_DEFAULTS_H
#define STAPY_DEFAULTS_H

#define MAXSTRINGLEN 512
#define MAXACTION 1000
#define MAXACTION_INTERRUPTIBLE (MAXACTION * 10)
#define MAXERRORS 0
#define MAXSKIPPED 100
#define MAXTRYLOCK 100
#define TRYLOCKDELAY 10
#define MINSTACKSPACE 1024
#define MAXMAPENTRIES 2048
#define MAXBACKTRACE 20
#define INTERRUPTIBLE 1
#define STP_OVERLOAD_THRESHOLD 500000000
#define STP_OVERLOAD_INTERVAL 1000000000
#define MAXNESTING 1

#define STAPY_LIMITS							\
	.maxstringlen = MAXSTRINGLEN,					\
	.maxaction = MAXACTION,						\
	.maxaction_interruptible = MAXACTION_INTERRUPTIBLE,		\
	.maxerrors = MAXERRORS,						\
	.maxskipped = MAXSKIPPED,					\
	.maxtrylock = MAXTRYLOCK,					\
	.trylockdelay = TRYLOCKDELAY,					\
	.minstackspace = MINSTACKSPACE,					\
	.maxmapentries = MAXMAPENTRIES,					\
	.maxbacktrace = MAXBACKTRACE,					\
	.interruptible = INTERRUPTIBLE,					\
	.overload_threshold = STP_OVERLOAD_THRESHOLD,			\
	.overload_interval = STP_OVERLOAD_INTERVAL,			\
	.maxnesting = MAXNESTING

#endif

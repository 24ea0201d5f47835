/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that generated C and tapset C may use. Precompiled once per kernel,
 * so nothing in here may depend on the script: limits that a script can change
 * are macros that only macros use, or fields of struct stapy_limits.
 */
#ifndef STAPY_H
#define STAPY_H

#include "compat/kernel.h"
#include "session.h"
#include "spaces.h"
#include "context.h"
#include "arith.h"
#include "memory.h"
#include "text.h"
#include "names.h"
#include "print.h"
#include "lock.h"
#include "map.h"
#include "stat.h"
#include "clock.h"
#include "symbols.h"
#include "lines.h"
#include "regex.h"
#include "monitor.h"
#include "user/names.h"
#include "user/unwind.h"
#include "embedded.h"
#include "oldnames.h"
#include "probes/families.h"

#endif

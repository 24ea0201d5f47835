/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules that come while a session runs must be of the build the script was made for. */
#ifndef STAPY_BUILD_H
#define STAPY_BUILD_H

#include <linux/module.h>

/*
 * True when the probes of a module may be armed: it is of the right build, or nothing is
 * known about that. Warns when it is not. For module notifiers; may not be atomic.
 */
bool stapy_module_fits(const struct module *module);

#endif

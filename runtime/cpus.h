/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that come while a module is loaded get what the others have. */
#ifndef STAPY_CPUS_H
#define STAPY_CPUS_H

/* Remember which CPUs are there; before anything is made for each of them. */
void stapy_cpus_init(void);
/* Have those served that are new; called by a timer every few milliseconds. */
void stapy_cpus_look(void);
/* After the last look. */
void stapy_cpus_stop(void);

#endif

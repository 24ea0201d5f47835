/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arming conditions: who changes their globals judges them; what is false for a while is disarmed. */
#ifndef STAPY_ARMING_H
#define STAPY_ARMING_H

/* Judge a condition again; all that it reads is held. From any handler. */
void stapy_judge(struct stapy_context *c, struct stapy_condition *condition);

/* Judges all conditions before the first handler runs. */
extern const struct stapy_family stapy_conditions;
/* Disarms and arms the other families' probes while the session runs: last in the table. */
extern const struct stapy_family stapy_arming;

#endif

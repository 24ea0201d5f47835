// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of process.*: whose processes each means, and which of them an event is a hit of. */
#include "../hit.h"
#include "../transport/control.h"
#include "../user/targets.h"
#include "process_rows.h"

static struct stapy_process_row *all_rows;
static unsigned int nr_rows;
static struct stapy_process_row *only[STAPY_PROCESS_EVENTS];	/* an event's one row; NULL: several, or a pattern's */
u32 stapy_process_watched[STAPY_PROCESS_EVENTS];	/* scopes that rows of an event have */

static noinline void hit(struct stapy_process_row *row, const unsigned long *args)
{
	struct stapy_probe *probe = row->site.probe;
	struct stapy_context *c;

	/* Unprivileged users see their own processes only. */
	if (unlikely(stapy_session.limits.unprivileged) && !stapy_is_myproc())
		return;
	c = stapy_hit_enter(NULL, &row->site, NULL, 0);
	if (!c)
		return;
	c->args = args;
	c->user_regs = task_pt_regs(current);
	stapy_hit_run(c, probe->handler);
	c->user_regs = NULL;
	stapy_hit_leave(c);
}

/* Of the rows of a pattern that of the program, NULL for none. */
static struct stapy_process_row *of_program(struct stapy_process_row *row)
{
	unsigned int at;

	if (!row->pattern)
		return row;
	at = stapy_target_program(row->scope) - row->program;
	return at < row->run ? row + at : NULL;
}

static noinline void fire_all(enum stapy_process_event event, u32 scopes, const unsigned long *args)
{
	unsigned int i;

	for (i = 0; i < nr_rows; i += all_rows[i].run) {
		struct stapy_process_row *row = &all_rows[i];

		if (row->event != event || row->scope < 0 || !(scopes & BIT(row->scope)))
			continue;
		row = of_program(row);
		if (row)
			hit(row, args);
	}
}

void stapy_process_fire(enum stapy_process_event event, u32 scopes, const unsigned long *args)
{
	if (!(stapy_process_watched[event] & scopes) || stapy_is_hidden())
		return;
	if (likely(only[event]))
		hit(only[event], args);
	else
		fire_all(event, scopes, args);
}

static int scope_of(const struct stapy_process_row *row)
{
	int scope;

	if (!row->pattern)
		return stapy_target_scope(row->file ? STAPY_SCOPE_FILE :
					  row->pid ? STAPY_SCOPE_PID : STAPY_SCOPE_ALL, row->file, row->pid);
	scope = stapy_target_pattern(row->pattern, row->programs);
	if (scope >= 0)
		/* One that is not there any more is a program that nobody runs. */
		stapy_target_add(scope, row->program, row->file);
	return scope;
}

/* Tell of each row how many are looked at as one. */
static void find_runs(void)
{
	unsigned int i = nr_rows;

	while (i--) {
		struct stapy_process_row *row = &all_rows[i], *next = row + 1;

		row->run = i + 1 < nr_rows && row->pattern && next->pattern && row->event == next->event &&
			   row->scope == next->scope && next->program == row->program + 1 ?
			   next->run + 1 : 1;
	}
}

/* Tell of each event whether one row is all that has to be looked at. */
static void find_only(void)
{
	u32 several = 0;
	unsigned int i;

	for (i = 0; i < nr_rows; i++) {
		struct stapy_process_row *row = &all_rows[i];

		if (row->scope < 0)
			continue;
		if (row->pattern || only[row->event])
			several |= BIT(row->event);
		only[row->event] = row;
	}
	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (several & BIT(i))
			only[i] = NULL;
}

const unsigned long *stapy_process_members(enum stapy_process_event event)
{
	u32 scopes = stapy_process_watched[event];
	unsigned int i;

	for (i = 0; i < nr_rows; i++)
		if (all_rows[i].event == event && all_rows[i].pattern)
			return NULL;
	return hweight32(scopes) == 1 ? stapy_target_members(__ffs(scopes)) : NULL;
}

struct stapy_process_row *stapy_process_only(enum stapy_process_event event)
{
	return only[event];
}

int stapy_process_rows_start(struct stapy_process_row *rows, unsigned int count)
{
	unsigned int i;

	all_rows = rows;
	nr_rows = count;
	for (i = 0; i < nr_rows; i++) {
		struct stapy_process_row *row = &all_rows[i];

		row->scope = scope_of(row);
		if (row->scope >= 0)
			stapy_process_watched[row->event] |= BIT(row->scope);
		else if (row->scope == -ENOMEM)
			return -ENOMEM;
		else if (!row->optional || (row->scope != -ENOENT && row->scope != -ESRCH))
			stapy_warn("probe %s registration error (rc %d)", row->site.point, row->scope);
	}
	find_runs();
	find_only();
	return 0;
}

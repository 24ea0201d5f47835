// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a read or write of a file of a script's is for its handler: the text that it sees as $value,
 * and the hit, in the process that came for the file.
 */
#include "../internal.h"
#include "procfs_hit.h"

#define LOOK_SECONDS 10			/* a part of a look tries to get its locks for so long */

const char *stapy_procfs_text(const struct stapy_context *c)
{
	const struct stapy_procfs_value *text = c->data;

	return text->at;
}

void stapy_procfs_add(struct stapy_context *c, const char *more)
{
	struct stapy_procfs_value *text = c->data;
	size_t length = strlen(more), room = text->bytes - text->length - 1;

	if (length > room) {
		text->lost += length - room;
		length = room;
	}
	memcpy(text->at + text->length, more, length);
	text->length += length;
	text->at[text->length] = '\0';
	c->changed = true;
}

void stapy_procfs_set(struct stapy_context *c, const char *value)
{
	struct stapy_procfs_value *text = c->data;

	text->length = 0;
	text->lost = 0;
	stapy_procfs_add(c, value);
}

void stapy_procfs_add_json(struct stapy_context *c, const char *more)
{
	struct stapy_procfs_value *text = c->data;
	size_t room = text->bytes - text->length;

	if (room < sizeof("\"\"")) {
		text->lost += sizeof("\"\"") - 1;
		return;
	}
	text->length += stapy_json_text(text->at + text->length,
					min_t(size_t, room, stapy_session.limits.maxstringlen), more);
	c->changed = true;
}

struct stapy_monitor_look *stapy_procfs_look(struct stapy_context *c)
{
	struct stapy_procfs_value *text = c->data;

	return &text->look;
}

/* A hit in the process that came for the file; -EAGAIN when it had to be skipped. */
static int hit(const struct stapy_procfs_row *row, struct stapy_procfs_value *text)
{
	struct stapy_context *c;
	bool failed;

	if (stapy_state() != STAPY_RUNNING)
		return -ENODEV;
	if (stapy_is_off(row->site.probe))
		return 0;
	c = stapy_enter(&row->site);
	if (!c)
		return -EAGAIN;
	stapy_interruptible(c);
	c->actions = stapy_session.limits.maxaction_interruptible;
	c->data = text;
	stapy_run(c);
	c->data = NULL;
	failed = c->error && !c->aborted;
	stapy_leave(c);
	return failed ? -EIO : 0;
}

/* The same with interrupts off from before the context is taken, for what would come meanwhile is skipped. */
static int quiet_hit(const struct stapy_procfs_row *row, struct stapy_procfs_value *text)
{
	unsigned long flags;
	int r;

	raw_local_irq_save(flags);
	r = hit(row, text);
	raw_local_irq_restore(flags);
	return r;
}

int stapy_procfs_run(struct stapy_procfs_row *row, struct stapy_procfs_value *text)
{
	unsigned long end = 0;
	int r = 0;

	memset(&text->look, 0, sizeof(text->look));
	while (!r) {
		text->look.unfinished = false;
		text->look.moved = false;
		r = READ_ONCE(row->quiet) ? quiet_hit(row, text) : hit(row, text);
		if (text->look.quiet)
			WRITE_ONCE(row->quiet, true);
		if (r || !text->look.unfinished)
			break;
		if (text->look.moved) {
			end = 0;
			cond_resched();
		} else if (!end) {
			end = jiffies + LOOK_SECONDS * HZ;
		} else {
			usleep_range(20, 50);
			r = time_after(jiffies, end) ? -EAGAIN : 0;
		}
		if (fatal_signal_pending(current))
			r = -EINTR;
	}
	return r;
}

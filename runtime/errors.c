// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors of handlers: noted where they happen, told and counted when the hit ends. */
#include "hit.h"

/* Only between phases of the session, when no other probe runs. */
static bool errors_held, error_held;

bool stapy_error(struct stapy_context *c, const char *place, const char *fmt, ...)
{
	va_list args;

	if (c->error)
		return false;
	va_start(args, fmt);
	vscnprintf(c->error_text, sizeof(c->error_text), fmt, args);
	va_end(args);
	c->error = c->error_text;
	c->error_at = place;
	c->trail = 0;
	c->eventful = true;
	return false;
}

void stapy_error_at(struct stapy_context *c, const char *place)
{
	/* Old C sets c->error by itself, to a text of its own that may be gone soon. */
	c->eventful = true;
	if (c->error != c->error_text) {
		strscpy(c->error_text, c->error, sizeof(c->error_text));
		c->error = c->error_text;
		c->error_at = NULL;
	}
	if (!c->error_at) {
		c->error_at = place;
		c->trail = 0;
	}
}

void stapy_called_from(struct stapy_context *c, const char *place)
{
	static const char call[] = " (called from %s)", more[] = " ...";
	size_t left = sizeof(c->error_trail) - c->trail;

	c->eventful = true;
	if (!c->error_at || c->error_at == stapy_at_call) {
		c->error_at = place;
		c->trail = 0;
		return;
	}
	/* One that does not fit ends the list. */
	if (left <= sizeof(more))
		return;
	if (sizeof(call) + strlen(place) + sizeof(more) <= left) {
		c->trail += scnprintf(c->error_trail + c->trail, left, call, place);
		return;
	}
	memcpy(c->error_trail + c->trail, more, sizeof(more));
	c->trail = sizeof(c->error_trail);
}

bool stapy_out_of_actions(struct stapy_context *c, const char *place)
{
	if (stapy_session.limits.suppress_time_limits) {
		c->actions = INT_MAX;
		return true;
	}
	return stapy_error(c, place, "MAXACTION exceeded");
}

static void tell_error(const struct stapy_context *c)
{
	static const char *const unwaited[] = {
		[STAPY_WAITED] = "",
		[STAPY_UNWAITED_CHANGED] = "; the page was not waited for, since the handler had "
					   "changed something before: read first",
		[STAPY_UNWAITED_PRINTED] = "; the page was not waited for, since the handler had "
					   "printed something before: read first",
		[STAPY_UNWAITED_KIND] = "; handlers of this probe cannot wait for a page that is "
					"not there",
	};
	const char *place = c->error_at == stapy_at_call ? NULL : c->error_at;

	stapy_control("error", "%s%s%s%.*s in probe %s%s", c->error, place ? " near " : "", place ?: "",
		      place ? (int)c->trail : 0, c->error_trail, c->site->point,
		      strstr(c->error, "error::fault") ? unwaited[c->unwaited] : "");
}

static void count_error(void)
{
	const struct stapy_limits *limits = &stapy_session.limits;

	if (atomic_inc_return(&stapy_session.errors) > limits->maxerrors &&
	    !limits->suppress_handler_errors)
		stapy_fail();
}

void stapy_report_error(struct stapy_context *c)
{
	if (c->aborted)
		return;
	atomic_inc(&c->site->probe->failed);
	if (!stapy_session.limits.suppress_handler_errors)
		tell_error(c);
	if (errors_held)
		error_held = true;
	else
		count_error();
}

void stapy_hold_errors(void)
{
	errors_held = true;
	error_held = false;
}

void stapy_judge_errors(void)
{
	errors_held = false;
	if (error_held)
		count_error();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Why output was lost, in words: for marks in the stream and for the end of the session. */
#include "../internal.h"

const char *stapy_loss_text(enum stapy_loss why)
{
	static const char *const texts[STAPY_LOSSES] = {
		[STAPY_LOSS_SLOW] = "reader too slow",
		[STAPY_LOSS_STOPPED] = "reader stopped",
		[STAPY_LOSS_LONG] = "print longer than the buffer",
		[STAPY_LOSS_NO_BUFFER] = "processor without a buffer",
		[STAPY_LOSS_HELD] = "buffer being read",
		[STAPY_LOSS_LIMIT] = "print longer than the limit",
	};

	return texts[why];
}

size_t stapy_loss_texts(char *to, size_t bytes, u32 why)
{
	size_t n = 0;
	int i;

	for (i = 0; i < STAPY_LOSSES; i++)
		if (why & BIT(i))
			n += scnprintf(to + n, bytes - n, "%s%s", n ? ", " : ": ", stapy_loss_text(i));
	return n;
}

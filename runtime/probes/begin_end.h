/* SPDX-License-Identifier: GPL-2.0-or-later */
/* begin, end and error probes: rows sorted by kind and priority at translation. */
#ifndef STAPY_BEGIN_END_H
#define STAPY_BEGIN_END_H

enum stapy_phase { STAPY_BEGIN, STAPY_END, STAPY_ERROR };

struct stapy_begin_end_row {
	struct stapy_site site;
	enum stapy_phase phase;
	s64 order;			/* begin(order) */
};

extern const struct stapy_family stapy_begin_end;	/* start runs begin probes, stop runs end or error probes */

#endif
